package com.example.core;

import java.util.List;
import java.util.concurrent.*;
import static com.example.Tokens.decode;

/**
 * Validates tokens.
 *
 * @since 1.0
 */
@Service
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class AuthValidator<T extends Claims & Serializable>
        extends Base<T> implements Validator<T>, Closeable {
    /** How long a token lives. */
    public static final long LIFETIME_MS = 60_000L;
    private final String key;
    protected List<T> cache = new ArrayList<>(), spare;
    int packagePrivate;

    public AuthValidator(String key) { this.key = key; }

    /** Validates. */
    @Override
    public synchronized <U> T validate(
            @NonNull final String token, // the token
            int... flags) throws ExpiredException, IOException {
        Runnable inner = () -> {};
        return null;
    }

    protected abstract void refresh();
    void local() {}
    private static int hidden() { return 0; }

    public enum Reason implements Named {
        /** Too old. */
        EXPIRED("expired"), FORGED("forged") { void x() {} };
        private final String text;
        Reason(String text) { this.text = text; }
        public String text() { return text; }
    }

    public record Point(int x, int y) implements Shape {
        public Point { }
        static Point origin() { return new Point(0, 0); }
    }

    interface Listener {
        int MAX = 3;
        void on(String event);
        default void off() {}
    }

    public @interface Marked { String value() default ""; }
}
