// Reading PTX as NVRTC writes it: a few entries, no calls. What is not known is refused.
#include "ptx.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPERANDS 136

struct symbol {
    char name[96];
    enum space space;
    uint64_t value; // register, address or place of an instruction
    int kind;       // 'r', 'a' or 'l'
};

struct reader {
    struct program *program;
    struct symbol *symbols;
    int count, room, line;
    uint32_t used; // of the next instruction
    char *error;
};

static void refuse(struct reader *r, const char *form, ...)
{
    if (*r->error) return;
    int n = snprintf(r->error, 400, "PTX, line %d: ", r->line);
    va_list list;
    va_start(list, form);
    vsnprintf(r->error + n, 400 - n, form, list);
    va_end(list);
}

static struct symbol *find(struct reader *r, const char *name)
{
    for (int i = r->count; i-- > 0;)
        if (!strcmp(r->symbols[i].name, name)) return &r->symbols[i];
    return NULL;
}

static struct symbol *name(struct reader *r, const char *name, int kind, enum space space, uint64_t value)
{
    if (r->count == r->room) r->symbols = realloc(r->symbols, (r->room = 2 * r->room + 64) * sizeof *r->symbols);
    struct symbol *s = &r->symbols[r->count++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->kind = kind, s->space = space, s->value = value;
    return s;
}

static enum type type_of(const char *word)
{
    static const char *const names[] = {"",    "pred", "b16", "u16", "s16", "f16", "bf16", "b32", "u32",
                                        "s32", "f32",  "b64", "u64", "s64", "f64", "b8",   "u8",  "s8"};
    for (int i = 1; i <= S8; ++i)
        if (!strcmp(word, names[i])) return (enum type)i;
    return NONE;
}

// A register: `%rd12` is the 12th of a class whose first register has a symbol of its name without the number.
static int register_at(struct reader *r, const char *text)
{
    static const char *const special[] = {"%tid.x",   "%tid.y",   "%tid.z",   "%ntid.x",   "%ntid.y",   "%ntid.z",
                                          "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z"};
    for (int i = 0; i < SPECIALS; ++i)
        if (!strcmp(text, special[i])) return i;
    char class[96];
    snprintf(class, sizeof class, "%s", text);
    char *digits = class + strlen(class);
    while (digits > class && isdigit((unsigned char)digits[-1])) --digits;
    const int number = *digits ? atoi(digits) : 0;
    *digits = 0;
    const struct symbol *s = find(r, class);
    if (!s || s->kind != 'r') {
        refuse(r, "no register `%s`", text);
        return 0;
    }
    return (int)s->value + number;
}

static struct operand operand_of(struct reader *r, const char *text)
{
    struct operand o = {0, 0, 0};
    char *end;
    if (*text == '%') {
        o.is_register = 1;
        o.at = register_at(r, text);
    } else if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd')) {
        o.bits = strtoull(text + 2, &end, 16);
        if (*end) refuse(r, "constant `%s`", text);
    } else if (*text == '-' || isdigit((unsigned char)*text)) {
        o.bits = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
        if (*end == 'U') ++end;
        if (*end) refuse(r, "constant `%s`", text);
    } else {
        const struct symbol *s = find(r, text);
        if (!s) refuse(r, "no symbol `%s`", text);
        else if (s->kind == 'r') o.is_register = 1, o.at = (int)s->value;
        else o.bits = s->value;
    }
    return o;
}

// `[%rd1+8]`, `[name+8]`, `[%rd1]`
static struct operand address_of(struct reader *r, char *text)
{
    char *plus = strpbrk(text + 1, "+");
    long long more = 0;
    if (plus) {
        more = strtoll(plus + 1, NULL, 0);
        *plus = 0;
    }
    struct operand o = operand_of(r, text);
    if (o.is_register) o.bits = (uint64_t)more;
    else o.bits += (uint64_t)more;
    return o;
}

// The parts of `ld.global.nc.v2.f32` between the dots.
static int parts_of(char *word, char *parts[], int most)
{
    int n = 0;
    for (char *at = strtok(word, "."); at && n < most; at = strtok(NULL, ".")) parts[n++] = at;
    return n;
}

static int has(char *parts[], int n, const char *part)
{
    for (int i = 1; i < n; ++i)
        if (!strcmp(parts[i], part)) return 1;
    return 0;
}

// Operation, types and modifiers of an instruction by its name.
static void operation(struct reader *r, struct instruction *in, const char *word)
{
    static const struct {
        const char *name;
        enum op op;
    } plain[] = {{"add", ADD}, {"sub", SUB},    {"fma", FMA},   {"div", DIV}, {"rem", REM}, {"min", MIN},   {"max", MAX},
                 {"and", AND}, {"or", OR},      {"xor", XOR},   {"not", NOT}, {"neg", NEG}, {"shl", SHL},   {"shr", SHR},
                 {"bfi", BFI}, {"setp", SETP},  {"selp", SELP}, {"mov", MOV}, {"cvt", CVT}, {"cvta", CVTA}, {"ld", LD},
                 {"st", ST},   {"bra", BRA},    {"bar", BAR},   {"ret", RET}, {"mul", MUL}, {"mad", MAD},   {"ldmatrix", LDMATRIX},
                 {"prmt", PRMT}, {"shfl", SHFL}, {"fence", PROXY_FENCE}, {"wgmma", WGMMA},
                 {"mma", MMA}, {"cp", CP_ASYNC}, {"abs", ABS},   {"sqrt", SQRT}, {"rsqrt", RSQRT}, {"rcp", RCP}, {"dp2a", DP2A}, {"ex2", EX2}, {"lg2", LG2},
                 {"atom", ATOM_ADD}, {"red", ATOM_ADD}};
    char copy[128], *parts[16];
    snprintf(copy, sizeof copy, "%s", word);
    const int n = parts_of(copy, parts, 16);
    int known = 0;
    for (size_t i = 0; i < sizeof plain / sizeof *plain && !known; ++i)
        if (!strcmp(parts[0], plain[i].name)) in->op = plain[i].op, known = 1;
    if (!known) {
        refuse(r, "instruction `%s` is not known", word);
        return;
    }
    in->type = type_of(parts[n - 1]);
    if (n > 2) in->from = type_of(parts[n - 2]);
    if (in->op == CVT) {
        const enum type to = in->from;
        in->from = in->type;
        in->type = to;
    }
    const int is_wide = has(parts, n, "wide"), is_high = has(parts, n, "hi");
    if (in->op == MUL && is_wide) in->op = MUL_WIDE;
    if (in->op == MUL && is_high) in->op = MUL_HI;
    if (in->op == MAD && is_wide) in->op = MAD_WIDE;
    if (in->op == MAD && is_high) refuse(r, "instruction `%s` is not known", word);
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"}, *const unordered[] = {"equ", "neu", "ltu",
                                                                                                      "leu", "gtu", "geu"};
    if (in->op == SETP) {
        known = 0;
        for (int i = 0; i < 6; ++i)
            if (!strcmp(parts[1], compares[i]) || !strcmp(parts[1], unordered[i]))
                in->compare = (enum compare)i, in->unordered = strlen(parts[1]) == 3, known = 1;
        if (!known || has(parts, n, "and") || has(parts, n, "or")) refuse(r, "instruction `%s` is not known", word);
    }
    in->space = has(parts, n, "global")   ? GLOBAL
                : has(parts, n, "shared") ? SHARED
                : has(parts, n, "local")  ? LOCAL
                : has(parts, n, "param")  ? PARAM
                                          : GENERIC;
    in->rounding = has(parts, n, "rmi")   ? DOWN
                   : has(parts, n, "rpi") ? UP
                   : has(parts, n, "rni") ? NEAREST
                   : has(parts, n, "rzi") ? TO_ZERO
                                          : PLAIN;
    if (in->op == DP2A && strcmp(word, "dp2a.lo.u32.u32")) refuse(r, "instruction `%s` is not known", word);
    if (in->op == ATOM_ADD && (!has(parts, n, "add") || size_of(in->type) != 4 || in->type == F32))
        refuse(r, "instruction `%s` is not known", word);
    in->lanes = has(parts, n, "v2") ? 2 : has(parts, n, "v4") ? 4 : 1;
    in->transposed = has(parts, n, "trans");
    in->is_bf16 = has(parts, n, "bf16");
    in->to_window = has(parts, n, "to");
    if (in->op == CP_ASYNC) {
        in->op = has(parts, n, "commit_group") ? COMMIT : has(parts, n, "wait_group") ? WAIT : CP_ASYNC;
        if (in->op == CP_ASYNC && !has(parts, n, "shared")) refuse(r, "instruction `%s` is not known", word);
    }
    if (in->op == MMA && !strstr(word, "m16n8k16.row.col.f32.")) refuse(r, "instruction `%s` is not known", word);
    if (in->op == LDMATRIX && !strstr(word, ".m8n8.x4")) refuse(r, "instruction `%s` is not known", word);
    if (in->op == SHFL && strcmp(word, "shfl.sync.bfly.b32")) refuse(r, "instruction `%s` is not known", word);
    if (in->op == PROXY_FENCE && strcmp(word, "fence.proxy.async") && strcmp(word, "fence.proxy.async.shared::cta"))
        refuse(r, "instruction `%s` is not known", word);
    if (in->op == WGMMA) {
        in->op = has(parts, n, "commit_group") ? WGMMA_COMMIT
                 : has(parts, n, "wait_group") ? WGMMA_WAIT
                 : has(parts, n, "fence")      ? WGMMA_FENCE
                                               : WGMMA;
        char known[96];
        const char *kind = in->is_bf16 ? "bf16" : "f16", *at = strstr(word, "m64n");
        in->columns = at ? atoi(at + 4) : 0;
        snprintf(known, sizeof known, "wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s", in->columns, kind, kind);
        const int is_shape = in->columns >= 8 && in->columns <= 256 && in->columns % 8 == 0;
        if ((in->op == WGMMA && (!is_shape || strcmp(word, known))) || !strstr(word, ".sync.aligned"))
            refuse(r, "instruction `%s` is not known", word);
    }
}

static void statement(struct reader *r, char *text)
{
    struct program *p = r->program;
    struct instruction in = {0};
    struct operand o[MOST_OPERANDS];
    in.guard = -1;
    in.line = r->line;
    in.used = r->used;
    r->used = ~0u;
    if (*text == '@') {
        char *end = text + strcspn(text, " \t");
        *end = 0;
        in.unless = text[1] == '!';
        in.guard = register_at(r, text + 1 + in.unless);
        text = end + 1;
        text += strspn(text, " \t");
    }
    char *word = text, *rest = text + strcspn(text, " \t");
    if (*rest) *rest++ = 0;
    operation(r, &in, word);
    // braces only group: their members are operands like others, one after the other
    int packed = -1;
    for (char *at = rest; *at;) {
        at += strspn(at, " \t,");
        if (!*at) break;
        if (*at == '{' || *at == '}') {
            if (*at == '{' && packed < 0) packed = in.count;
            ++at;
            continue;
        }
        char *end = *at == '[' ? strchr(at, ']') : at + strcspn(at, ", \t}");
        const int is_address = *at == '[';
        const char after = *end;
        *end = 0;
        // what shfl says of the other lane besides is not used
        char *second = in.op == SHFL ? strchr(at, '|') : NULL;
        if (second) *second = 0;
        if (in.count == MOST_OPERANDS) {
            refuse(r, "too many operands");
            return;
        }
        if (in.op == BRA) {
            // labels are known once all was read
            o[in.count++].at = r->count;
            name(r, at, 'b', GENERIC, 0);
        } else {
            o[in.count++] = is_address ? address_of(r, at + 1) : operand_of(r, at);
        }
        at = end + (after && after != '}');
        if (after == '}') *end = '}';
    }
    if (in.op == MOV && packed >= 0) in.op = packed == 0 ? UNPACK : PACK;
    if (in.op == RET) in.count = 0;
    if (in.op == WGMMA && in.count != in.columns / 2 + 7) refuse(r, "%d operands", in.count);
    in.first = p->operand_count;
    p->operands = realloc(p->operands, (in.first + in.count + 1) * sizeof *o);
    memcpy(p->operands + in.first, o, in.count * sizeof *o);
    p->operand_count += in.count;
    p->code = realloc(p->code, (p->count + 1) * sizeof *p->code);
    p->code[p->count++] = in;
}

// `.shared .align 16 .b8 name[512]`, `.param .u32 name`, `.reg .b32 %r<9>`, `.pragma "used_bytes_mask 4095"`
static void directive(struct reader *r, char *text)
{
    struct program *p = r->program;
    const char *mask = strstr(text, "used_bytes_mask ");
    if (mask) r->used = (uint32_t)strtoul(mask + 16, NULL, 0);
    char *words[12];
    int n = 0;
    for (char *at = strtok(text, " \t,()"); at && n < 12; at = strtok(NULL, " \t,()")) words[n++] = at;
    if (n < 2) return;
    const int is_extern = !strcmp(words[0], ".extern");
    const char *what = words[is_extern];
    char *last = words[n - 1];
    size_t align = 1;
    for (int i = 0; i + 1 < n; ++i)
        if (!strcmp(words[i], ".align")) align = strtoull(words[i + 1], NULL, 0);
    if (!strcmp(what, ".reg")) {
        char *count = strchr(last, '<');
        int many = 1;
        if (count) {
            many = atoi(count + 1);
            *count = 0;
        }
        name(r, last, 'r', GENERIC, p->registers);
        p->registers += many;
    } else if (!strcmp(what, ".param")) {
        const enum type t = type_of(words[1] + 1);
        struct entry *e = &p->entries[p->entry_count - 1];
        if (t == NONE || !p->entry_count || e->parameter_count == 32) {
            refuse(r, "parameter `%s`", last);
            return;
        }
        e->bytes = (e->bytes + size_of(t) - 1) / size_of(t) * size_of(t);
        e->parameter_at[e->parameter_count] = (int)e->bytes;
        e->parameter_type[e->parameter_count++] = t;
        name(r, last, 'a', PARAM, e->bytes);
        e->bytes += size_of(t);
    } else if (!strcmp(what, ".visible")) {
        if (strcmp(words[1], ".entry") || p->entry_count == 4) {
            refuse(r, "`%s`", words[1]);
            return;
        }
        struct entry *e = &p->entries[p->entry_count++];
        snprintf(e->name, sizeof e->name, "%s", last);
        e->start = p->count;
    } else if (!strcmp(what, ".shared") || !strcmp(what, ".local")) {
        size_t *used = strcmp(what, ".local") ? &p->shared : &p->local;
        char *length = strchr(last, '[');
        const size_t bytes = length && length[1] != ']' ? strtoull(length + 1, NULL, 0) * (size_t)size_of(type_of(words[n - 2] + 1)) : 0;
        if (length) *length = 0;
        *used = (*used + align - 1) / align * align;
        if (is_extern) p->dynamic_from = *used;
        name(r, last, 'a', strcmp(what, ".local") ? SHARED : LOCAL, FIRST + *used);
        *used += bytes;
    }
}

// A directive, a label or an instruction, without what ends it.
static void part(struct reader *r, char *at)
{
    at += strspn(at, " \t");
    // a scope of its own for a register that is called like others: the last one of a name is meant
    if (*at == '{') at += 1 + strspn(at + 1, " \t");
    for (size_t n = strlen(at); n && strchr(" \t\r", at[n - 1]); --n) at[n - 1] = 0;
    if (!*at || !strcmp(at, "}") || !strcmp(at, ")")) return;
    if (*at == '.') {
        directive(r, at);
    } else if (at[strlen(at) - 1] == ':') {
        at[strlen(at) - 1] = 0;
        name(r, at, 'l', GENERIC, r->program->count);
    } else {
        statement(r, at);
    }
}

// Reads a module; NULL, with a sentence, where something is not known.
static struct program *ptx_read(const char *text, char *error)
{
    struct reader r = {.program = calloc(1, sizeof(struct program)), .used = ~0u, .error = error};
    r.program->registers = SPECIALS;
    r.program->dynamic_from = (size_t)-1;
    *error = 0;
    char line[2048];
    while (*text && !*error) {
        const size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
        ++r.line;
        char *comment = strstr(line, "//");
        if (comment) *comment = 0;
        if (length >= sizeof line) refuse(&r, "it is too long");
        // directive() and operation() use strtok
        for (char *at = line, *end; *at; at = end) {
            end = at + strcspn(at, ";");
            if (*end) *end++ = 0;
            part(&r, at);
        }
    }
    for (int i = 0; i < r.program->count && !*error; ++i) {
        struct instruction *in = &r.program->code[i];
        struct operand *target = r.program->operands + in->first;
        in->o = target;
        if (in->op != BRA) continue;
        r.line = in->line;
        const char *wanted = r.symbols[target->at].name;
        const struct symbol *label = NULL;
        for (int s = 0; s < r.count && !label; ++s)
            if (r.symbols[s].kind == 'l' && !strcmp(r.symbols[s].name, wanted)) label = &r.symbols[s];
        if (!label) refuse(&r, "no label `%s`", wanted);
        else target->at = (int)label->value;
    }
    if (r.program->dynamic_from == (size_t)-1) r.program->dynamic_from = r.program->shared;
    free(r.symbols);
    return *error ? NULL : r.program;
}
