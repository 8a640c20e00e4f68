/* Checks tokens. */
#include <stdio.h>
#include "core/auth.h"

#ifndef AUTH_H
#define AUTH_H
#define LIFETIME_MS 60000
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

typedef unsigned long token_t;
typedef int (*compare_fn)(const void *a, const void *b);

/* One session. */
struct session {
    const char *user; /* who */
    int flags[4], count;
    void (*end)(struct session *self, int reason);
    struct { int x; } inner;
};

typedef struct {
    double x, y;
} point_t;

typedef struct node node;
typedef enum reason { EXPIRED = 1, FORGED } reason_t;
enum { SMALL = 1, LARGE };
union bits { float f; unsigned u; };

extern int verbose;
static const char *names[] = { "a", "b" };
int first = 1, *second;

/** Checks a token. */
int check(const char *token, size_t length);
static inline void helper(void) { int local; }

// Makes a session.
struct session *
session_new(const char *user,
            int flags)
{
    return 0;
}
int (*pick(int which))(int);
char **split(char *text) { return 0; }

#define BEFORE 1
/** Stands behind a macro. */
int documented(void);
struct variant { int tag; union { int number; float fraction; }; struct { int inner; } named; };
