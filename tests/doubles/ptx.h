// A program of PTX, NVIDIA's virtual assembly (PTX ISA 9.0), as it is once read.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Where a generic address points: state spaces have windows of their own, and no address in any of them is 0.
#define SHARED_WINDOW ((uint64_t)1 << 60)
#define LOCAL_WINDOW ((uint64_t)1 << 61)
#define FIRST 256

enum type { NONE, PRED, B16, U16, S16, F16, BF16, B32, U32, S32, F32, B64, U64, S64, F64, B8, U8, S8 };
enum space { GENERIC, GLOBAL, SHARED, LOCAL, PARAM };
enum op {
    ADD,
    SUB,
    MUL,
    MUL_WIDE,
    MUL_HI,
    MAD,
    MAD_WIDE,
    FMA,
    DIV,
    REM,
    MIN,
    MAX,
    AND,
    OR,
    XOR,
    NOT,
    NEG,
    ABS,
    SQRT,
    RSQRT,
    RCP,
    DP2A,
    EX2,
    LG2,
    SHL,
    SHR,
    BFI,
    SETP,
    SELP,
    MOV,
    PACK,
    UNPACK,
    CVT,
    CVTA,
    LD,
    ST,
    ATOM_ADD,
    BRA,
    BAR,
    RET,
    CP_ASYNC,
    COMMIT,
    WAIT,
    LDMATRIX,
    MMA,
    PRMT,
    SHFL,
    PROXY_FENCE,
    WGMMA,
    WGMMA_FENCE,
    WGMMA_COMMIT,
    WGMMA_WAIT
};
enum compare { EQ, NE, LT, LE, GT, GE };
enum rounding { PLAIN, DOWN, UP, NEAREST, TO_ZERO }; // to a whole number
// registers that every work-item begins with
enum special { TID, NTID = TID + 3, CTAID = NTID + 3, NCTAID = CTAID + 3, SPECIALS = NCTAID + 3 };

struct operand {
    int is_register;
    int at;        // of a register
    uint64_t bits; // of a constant; of an address with a register, what is added
};

struct instruction {
    enum op op;
    enum type type, from;
    enum space space;
    enum compare compare;
    enum rounding rounding;
    int lanes;         // lanes of a vector
    int guard, unless; // predicate register or -1
    int transposed, is_bf16, to_window, unordered;
    uint32_t used; // bytes of what is loaded that count, as a mask
    int columns;      // of a product of a warpgroup
    int count, first; // operands, and the first of them among all
    const struct operand *o;
    int line;
};

struct entry {
    char name[96];
    int start;    // its first instruction
    size_t bytes; // of its parameters
    int parameter_at[32], parameter_count;
    enum type parameter_type[32];
};

struct program {
    struct instruction *code;
    struct operand *operands;
    struct entry entries[4];
    int count, operand_count, registers, entry_count;
    size_t shared, local; // bytes
    size_t dynamic_from;  // where shared memory that the launch adds begins
};

static int size_of(enum type t)
{
    switch (t) {
    case B8:
    case U8:
    case S8: return 1;
    case B16:
    case U16:
    case S16:
    case F16:
    case BF16: return 2;
    case B64:
    case U64:
    case S64:
    case F64: return 8;
    default: return 4;
    }
}

static int is_signed(enum type t) { return t == S16 || t == S32 || t == S64 || t == S8; }
