// DDBG_DEFINE(name, arguments…): DDBG_BODY(name, (Word a, …), a, …) with one parameter for each argument that follows.
// Of the arguments only the number counts.
#pragma once

#define DDBG_ARITY_0(name) DDBG_BODY(name, ())
#define DDBG_ARITY_1(name) DDBG_BODY(name, (Word a), a)
#define DDBG_ARITY_2(name) DDBG_BODY(name, (Word a, Word b), a, b)
#define DDBG_ARITY_3(name) DDBG_BODY(name, (Word a, Word b, Word c), a, b, c)
#define DDBG_ARITY_4(name) DDBG_BODY(name, (Word a, Word b, Word c, Word d), a, b, c, d)
#define DDBG_ARITY_5(name) DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e), a, b, c, d, e)
#define DDBG_ARITY_6(name) DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f), a, b, c, d, e, f)
#define DDBG_ARITY_7(name) \
  DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g), a, b, c, d, e, f, g)
#define DDBG_ARITY_8(name) \
  DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h), a, b, c, d, e, f, g, h)
#define DDBG_ARITY_9(name) \
  DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i), a, b, c, d, e, f, g, h, i)
#define DDBG_ARITY_10(name)                                                                                           \
  DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j), a, b, c, d, e, f, \
            g, h, i, j)
#define DDBG_ARITY_11(name)                                                                                          \
  DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k), a, b, c, \
            d, e, f, g, h, i, j, k)
#define DDBG_ARITY_12(name)                                                                                            \
  DDBG_BODY(name, (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l), a, \
            b, c, d, e, f, g, h, i, j, k, l)

#define DDBG_ARITY_13(name)                                                                                           \
  DDBG_BODY(name,                                                                                                     \
            (Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l, Word m), \
            a, b, c, d, e, f, g, h, i, j, k, l, m)

#define DDBG_PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, n, ...) n
#define DDBG_COUNT(...) DDBG_PICK(0 __VA_OPT__(, ) __VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DDBG_JOIN2(a, b) a##b
#define DDBG_JOIN(a, b) DDBG_JOIN2(a, b)
#define DDBG_DEFINE(name, ...) DDBG_JOIN(DDBG_ARITY_, DDBG_COUNT(__VA_ARGS__))(name)
