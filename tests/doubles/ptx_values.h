// What an instruction of PTX makes of its operands' bits. What is not defined, or not known here, sets `wrong`.
#include "ptx.h"
#include <string.h>

static float as_float(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, 4);
    return x;
}

static uint32_t of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static float half_of(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const float size = exponent == 31 ? (mantissa ? 0.0f / 0.0f : 1.0f / 0.0f)
                       : exponent
                           ? (1024 + mantissa) / 1024.0f * (exponent >= 15 ? (float)(1 << (exponent - 15)) : 1.0f / (1 << (15 - exponent)))
                           : mantissa / 1024.0f / 16384.0f;
    return bits >> 15 ? -size : size;
}

// To the nearest, ties to even: adding a number so large that the unit of its last place is the wanted one.
static uint16_t to_half(float x)
{
    const uint32_t bits = of_float(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000) return (uint16_t)(sign | (of_float(as_float(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (((size + 0xfff + (size >> 13 & 1)) >> 13) - (112 << 10)));
}

static float bf16_of(uint16_t bits) { return as_float((uint32_t)bits << 16); }

static uint16_t to_bf16(float x)
{
    const uint32_t bits = of_float(x);
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint64_t low(uint64_t x, enum type t)
{
    switch (size_of(t)) {
    case 1: return (uint8_t)x;
    case 2: return (uint16_t)x;
    case 4: return (uint32_t)x;
    default: return x;
    }
}

static int64_t extended(uint64_t x, enum type t)
{
    switch (size_of(t)) {
    case 1: return is_signed(t) ? (int8_t)x : (int64_t)(uint8_t)x;
    case 2: return is_signed(t) ? (int16_t)x : (int64_t)(uint16_t)x;
    case 4: return is_signed(t) ? (int32_t)x : (int64_t)(uint32_t)x;
    default: return (int64_t)x;
    }
}

// Whole numbers of a float, as far as it has any after the point.
static float whole(float x, enum rounding rounding)
{
    if (!(x > -8388608.0f && x < 8388608.0f)) return x;
    const float cut = (float)(int32_t)x;
    switch (rounding) {
    case DOWN: return cut > x ? cut - 1 : cut;
    case UP: return cut < x ? cut + 1 : cut;
    case NEAREST: {
        const float down = cut > x ? cut - 1 : cut, over = x - down;
        return over > 0.5f || (over == 0.5f && (int32_t)down % 2) ? down + 1 : down;
    }
    default: return cut;
    }
}

// Powers of two and logarithms by series in double precision, without the library of mathematics.
static float power_of_two(float x)
{
    if (x != x) return x;
    if (x >= 128) return 1.0f / 0.0f;
    if (x < -126) return 0.0f;
    const int n = (int)whole(x, DOWN);
    const double y = ((double)x - n) * 0.693147180559945309;
    double term = 1, sum = 1;
    for (int i = 1; i < 20; ++i) sum += term *= y / i;
    return (float)(sum * as_float((uint32_t)(n + 127) << 23));
}

static float logarithm(float x)
{
    if (!(x > 0)) return x == 0 ? -1.0f / 0.0f : 0.0f / 0.0f;
    const uint32_t bits = of_float(x);
    if (bits >= 0x7f800000) return x;
    const double m = as_float((bits & 0x7fffff) | 0x3f800000), z = (m - 1) / (m + 1);
    double power = z, sum = 0;
    for (int i = 1; i < 60; i += 2, power *= z * z) sum += power / i;
    return (float)((int)(bits >> 23) - 127 + 2 * sum / 0.693147180559945309);
}

static uint64_t arithmetic_f32(const struct instruction *in, const char **wrong, float a, float b, float c)
{
    switch (in->op) {
    case ADD: return of_float(a + b);
    case SUB: return of_float(a - b);
    case MUL: return of_float(a * b);
    case FMA:
    case MAD: return of_float((float)((double)a * b + c));
    case DIV: return of_float(a / b);
    // of a number and what is none, the number
    case MIN: return of_float(a < b || b != b ? a : b);
    case MAX: return of_float(a > b || b != b ? a : b);
    case ABS: return of_float(a) & 0x7fffffff;
    case SQRT: return of_float(__builtin_sqrtf(a));
    case RSQRT: return of_float((float)(1 / __builtin_sqrt((double)a)));
    case RCP: return of_float(1 / a);
    case EX2: return of_float(power_of_two(a));
    case LG2: return of_float(logarithm(a));
    case NEG: return of_float(-a);
    default: *wrong = "an operation that floats do not have"; return 0;
    }
}

static uint64_t arithmetic(const struct instruction *in, const char **wrong, uint64_t a, uint64_t b, uint64_t c)
{
    const enum type t = in->type;
    if (t == F32) return arithmetic_f32(in, wrong, as_float(a), as_float(b), as_float(c));
    const int64_t x = extended(a, t), y = extended(b, t);
    const unsigned bits = 8 * size_of(t);
    const int sign = is_signed(t);
    switch (in->op) {
    case ADD: return low(a + b, t);
    case SUB: return low(a - b, t);
    case MUL: return low(a * b, t);
    case MAD: return low(a * b + c, t);
    case MUL_WIDE: return low((uint64_t)x * (uint64_t)y, bits == 16 ? B32 : B64);
    case MAD_WIDE: return low((uint64_t)x * (uint64_t)y + c, bits == 16 ? B32 : B64);
    case MUL_HI:
        return bits == 16   ? (uint16_t)((uint64_t)(x * y) >> 16)
               : bits == 32 ? (uint32_t)((uint64_t)(x * y) >> 32)
                          : (uint64_t)(sign ? (__int128)x * y >> 64 : (__int128)((unsigned __int128)a * b >> 64));
    case DP2A: return (uint32_t)(c + (a & 0xffff) * (b & 0xff) + (a >> 16 & 0xffff) * (b >> 8 & 0xff));
    case DIV:
    case REM:
        if (!y) {
            *wrong = "divides by zero";
            return 0;
        }
        if (bits == 64 && !sign) return in->op == DIV ? a / b : a % b;
        return low((uint64_t)(in->op == DIV ? x / y : x % y), t);
    case MIN: return bits == 64 && !sign ? (a < b ? a : b) : low((uint64_t)(x < y ? x : y), t);
    case MAX: return bits == 64 && !sign ? (a > b ? a : b) : low((uint64_t)(x > y ? x : y), t);
    case AND: return low(a & b, t);
    case OR: return low(a | b, t);
    case XOR: return low(a ^ b, t);
    case NOT: return t == PRED ? !a : low(~a, t);
    case NEG: return low(0 - a, t);
    case PRMT: {
        // four bytes of the eight of b and a, or their signs, as c names them
        uint64_t bytes = 0;
        for (int i = 0; i < 4; ++i) {
            const unsigned which = (unsigned)(c >> 4 * i) & 15, shift = which % 8 * 8;
            const uint64_t byte = (b << 32 | (uint32_t)a) >> shift & 255;
            bytes |= (which < 8 ? byte : byte >> 7 ? 255 : 0) << 8 * i;
        }
        return bytes;
    }
    case SHL: return (uint32_t)b >= bits ? 0 : low(a << (uint32_t)b, t);
    case SHR:
        return (uint32_t)b >= bits ? (sign && x < 0 ? low(~(uint64_t)0, t) : 0)
                                   : low(sign ? (uint64_t)(x >> (uint32_t)b) : low(a, t) >> (uint32_t)b, t);
    default: *wrong = "an operation that integers do not have"; return 0;
    }
}

static int compared(const struct instruction *in, uint64_t a, uint64_t b)
{
    int less, equal;
    // what is no number compares as the instruction says, and with nothing otherwise
    if (in->type == F32 && (as_float(a) != as_float(a) || as_float(b) != as_float(b))) return in->unordered;
    if (in->type == F32) less = as_float(a) < as_float(b), equal = as_float(a) == as_float(b);
    else if (size_of(in->type) == 8 && !is_signed(in->type)) less = a < b, equal = a == b;
    else less = extended(a, in->type) < extended(b, in->type), equal = extended(a, in->type) == extended(b, in->type);
    switch (in->compare) {
    case EQ: return equal;
    case NE: return !equal;
    case LT: return less;
    case LE: return less || equal;
    case GT: return !less && !equal;
    default: return !less;
    }
}

static uint64_t converted(const struct instruction *in, const char **wrong, uint64_t x)
{
    const enum type from = in->from, to = in->type;
    if (from == F32 && to == F16) return to_half(as_float(x));
    if (from == F32 && to == BF16) return to_bf16(as_float(x));
    if (from == F16 && to == F32) return of_float(half_of((uint16_t)x));
    if (from == BF16 && to == F32) return of_float(bf16_of((uint16_t)x));
    if (from == F32 && in->rounding != PLAIN) {
        const float x_whole = whole(as_float(x), in->rounding);
        if (to == F32) return of_float(x_whole);
        if (to == S32) return (uint32_t)(x_whole != x_whole ? 0 : x_whole >= 2147483648.0f ? INT32_MAX : x_whole < -2147483648.0f ? INT32_MIN : (int32_t)x_whole);
        if (to == U32) return x_whole >= 4294967296.0f ? UINT32_MAX : x_whole > 0 ? (uint32_t)x_whole : 0;
    }
    const int is_float = from == F16 || from == BF16 || from == F64 || to == F16 || to == BF16 || to == F64;
    if (is_float || (from == F32 && to != F32)) *wrong = "a conversion that is not known";
    if (to == F32) return from == F32 ? x : of_float(from == U64 ? (float)x : (float)extended(x, from));
    return low((uint64_t)extended(x, from), to);
}
