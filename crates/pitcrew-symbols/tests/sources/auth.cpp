#include <vector>
#include "core/auth.hpp"
using namespace std;
using core::Token;

namespace core::auth {

/// Validates tokens.
template <typename T, int N = 3>
class Validator final : public Base<T>, private Mixin {
    int hidden_ = 0;
public:
    using value_type = T;
    static constexpr int kMax = 3;
    explicit Validator(std::string key, int flags = 0) : key_(std::move(key)) { init(); }
    virtual ~Validator() = default;
    Validator(const Validator&) = delete;
    /// Validates.
    [[nodiscard]] virtual bool validate(const std::string& token) const noexcept = 0;
    template <class U> U as() const;
    bool operator==(const Validator& other) const { return true; }
    operator bool() const;
    std::vector<T> items;
    enum class Mode { Fast, Slow = 2 };
    struct Inner { int x; void f(); };
protected:
    void refresh();
private:
    std::string key_;
    friend class Other;
};

enum class Reason : uint8_t { Expired, Forged };

template <typename T>
T clamp(T value, T low, T high) {
    auto inner = [](int x) { return x; };
    return value;
}

template <typename T, int N>
bool Validator<T, N>::validate(const std::string& token) const noexcept { return true; }
void Store::Inner::close() && {}
std::ostream& operator<<(std::ostream& out, const Token& token);

namespace {
int secret() { return 1; }
}
template <typename T> concept Hashable = requires(T a) { a.hash(); };
template <typename T> using Ptr = std::unique_ptr<T>;
extern "C" {
int c_api(int x);
}
extern "C" void single();
constexpr double kPi = 3.14;
}  // namespace core::auth
static int counter;

/** Is exported. */
class LIB_EXPORT Exported : public Base {
public:
    Exported() = default;
    int size() const;
};
