// Running PTX on the host, one work-item after the other from barrier to barrier, strictly: every access must be aligned and lie inside
// its memory; shared memory must have been written, by the same work-item or before a barrier; what another reads before the next barrier
// must not be written; copies in the background arrive as late as the program allows, and nothing may touch their target before.
#include "ptx_read.h"
#include "ptx_values.h"

// What is known of two bytes of shared memory.
struct cell {
    uint32_t written, read; // barrier intervals of the last write and read
    uint32_t when;          // number of the last write among all
    uint16_t writer, reader;
    uint8_t flying;
};
#define MANY 0xffff
#define ATOMIC 0xfffe // writers that do not disturb one another
enum access { READ, WRITE, ATOM };

struct copy {
    uint32_t to, bytes;
    uint8_t data[16];
};

struct item {
    uint64_t *r;
    uint8_t *local;
    int pc, done;
    uint32_t fenced; // the first write that its last fence between proxies came too early for
    // copies in the background, and where each group of them ends
    struct copy *copies;
    int copy_count, copy_room, *groups, group_count, group_room;
};

struct run {
    const struct program *p;
    const struct entry *entry;
    uint8_t *shared, *parameters;
    size_t shared_bytes;
    struct cell *cells;
    uint32_t interval, first_interval, writes;
    struct item *items;
    struct products *products; // of each warp
    int item_count, group;
    char *error;
};

// Whether so many bytes at an address were allocated.
static int is_allocated(uint64_t address, size_t bytes);

static void trouble(struct run *run, const struct instruction *in, int item, const char *form, ...)
{
    if (*run->error) return;
    int n = snprintf(run->error, 400, "work-item %d of group %d, PTX line %d: ", item, run->group, in->line);
    va_list list;
    va_start(list, form);
    vsnprintf(run->error + n, 400 - n, form, list);
    va_end(list);
}

// Notes an access to shared memory, and whether it is a race.
static void touch(struct run *run, const struct instruction *in, int item, uint32_t at, int bytes, int is_write)
{
    for (uint32_t i = at / 2; i <= (at + bytes - 1) / 2; ++i) {
        if (!is_write && !(in->used >> (i * 2 - at) & 3)) continue; // the compiler loads more than it wants
        struct cell *c = &run->cells[i];
        const int same_interval = c->written == run->interval;
        if (c->flying) trouble(run, in, item, "%s shared byte %u, to which a copy is on its way", is_write ? "writes" : "reads", at);
        else if (is_write == ATOM && same_interval && c->writer == ATOMIC) continue;
        else if (same_interval && c->writer != item)
            trouble(run, in, item, "%s shared byte %u, which %d wrote since the last barrier", is_write ? "writes" : "reads", at,
                    c->writer);
        else if (!is_write && c->written < run->first_interval) trouble(run, in, item, "reads shared byte %u, which nobody wrote", at);
        else if (is_write && c->read == run->interval && c->reader != item)
            trouble(run, in, item, "writes shared byte %u, which %d read since the last barrier", at, c->reader);
        if (is_write) c->written = run->interval, c->writer = is_write == ATOM ? ATOMIC : (uint16_t)item, c->when = run->writes++;
        else {
            c->reader = c->read == run->interval && c->reader != item ? MANY : (uint16_t)item;
            c->read = run->interval;
        }
    }
}

// The host's address of what an instruction accesses; NULL where it may not.
static uint8_t *reach(struct run *run, const struct instruction *in, int item, enum space space, uint64_t at, int bytes, int is_write)
{
    if (space == GENERIC) {
        space = at & SHARED_WINDOW ? SHARED : at & LOCAL_WINDOW ? LOCAL : GLOBAL;
        at &= ~(SHARED_WINDOW | LOCAL_WINDOW);
    }
    if (at % bytes) {
        trouble(run, in, item, "accesses %d bytes at %llx, which is not aligned", bytes, (unsigned long long)at);
        return NULL;
    }
    if (space == GLOBAL) {
        if (is_allocated(at, bytes)) return (uint8_t *)at;
    } else if (space == SHARED) {
        if (at >= FIRST && at - FIRST + bytes <= run->shared_bytes) {
            touch(run, in, item, (uint32_t)(at - FIRST), bytes, is_write);
            return run->shared + at - FIRST;
        }
    } else if (space == LOCAL) {
        if (at >= FIRST && at - FIRST + bytes <= run->p->local) return run->items[item].local + at - FIRST;
    } else if (!is_write && at + bytes <= run->entry->bytes) {
        return run->parameters + at;
    }
    static const char *const names[] = {"", "global", "shared", "local", "parameter"};
    trouble(run, in, item, "%s %d bytes outside of %s memory, at %llx", is_write ? "writes" : "reads", bytes, names[space],
            (unsigned long long)at);
    return NULL;
}

static uint64_t value(const struct item *t, const struct operand *o) { return o->is_register ? t->r[o->at] : o->bits; }
static uint64_t address(const struct item *t, const struct operand *o) { return o->is_register ? t->r[o->at] + o->bits : o->bits; }

// Lets the groups of copies but the last `left` arrive.
static void arrive(struct run *run, int item, int left)
{
    struct item *t = &run->items[item];
    const int groups = t->group_count - left;
    if (groups <= 0) return;
    const int copies = t->groups[groups - 1];
    for (int i = 0; i < copies; ++i) {
        const struct copy *c = &t->copies[i];
        memcpy(run->shared + c->to, c->data, c->bytes);
        for (uint32_t k = c->to / 2; k < (c->to + c->bytes) / 2; ++k)
            run->cells[k].flying = 0, run->cells[k].written = run->interval, run->cells[k].writer = (uint16_t)item,
            run->cells[k].when = run->writes++;
    }
    memmove(t->copies, t->copies + copies, (t->copy_count -= copies) * sizeof *t->copies);
    memmove(t->groups, t->groups + groups, (t->group_count -= groups) * sizeof *t->groups);
    for (int i = 0; i < t->group_count; ++i) t->groups[i] -= copies;
}

static void copy_in_background(struct run *run, const struct instruction *in, int item)
{
    struct item *t = &run->items[item];
    struct copy c = {0, (uint32_t)value(t, &in->o[2]), {0}};
    const uint32_t bytes = in->count > 3 ? (uint32_t)value(t, &in->o[3]) : c.bytes;
    if ((c.bytes != 4 && c.bytes != 8 && c.bytes != 16) || bytes > c.bytes)
        trouble(run, in, item, "a copy of %u of %u bytes", bytes, c.bytes);
    if (*run->error) return;
    const uint64_t to = address(t, &in->o[0]), from = address(t, &in->o[1]);
    if (!reach(run, in, item, SHARED, to, c.bytes, 1)) return;
    const uint8_t *source = bytes ? reach(run, in, item, GLOBAL, from, bytes, 0) : NULL;
    if (from % c.bytes) trouble(run, in, item, "copies %u bytes from %llx, which is not aligned", c.bytes, (unsigned long long)from);
    if (bytes && !source) return;
    c.to = (uint32_t)(to - FIRST);
    if (bytes) memcpy(c.data, source, bytes);
    for (uint32_t k = c.to / 2; k < (c.to + c.bytes) / 2; ++k) run->cells[k].flying = 1;
    if (t->copy_count == t->copy_room) t->copies = realloc(t->copies, (t->copy_room = 2 * t->copy_room + 16) * sizeof c);
    t->copies[t->copy_count++] = c;
}

#include "ptx_wgmma.h"

// What a warp does together: the four 8 x 8 matrices of ldmatrix, and mma's product of 16 x 16 by 16 x 8, in the layouts of the PTX ISA.
static void together(struct run *run, const struct instruction *in, int first)
{
    struct item *t = run->items + first;
    if (in->op >= WGMMA) {
        warpgroup(run, in, first);
        return;
    }
    if (in->op == SHFL) {
        uint64_t all[32];
        for (int lane = 0; lane < 32; ++lane) {
            all[lane] = value(&t[lane], &in->o[1]);
            if (value(&t[lane], &in->o[3]) != 31 || (uint32_t)value(&t[lane], &in->o[4]) != ~0u)
                trouble(run, in, first + lane, "a shuffle in a part of the warp");
        }
        for (int lane = 0; lane < 32; ++lane) t[lane].r[in->o[0].at] = all[(lane ^ value(&t[lane], &in->o[2])) & 31];
        return;
    }
    if (in->op == LDMATRIX) {
        uint16_t m[4][8][8];
        for (int lane = 0; lane < 32; ++lane) {
            const uint8_t *row = reach(run, in, first + lane, SHARED, address(&t[lane], &in->o[4]), 16, 0);
            if (!row) return;
            memcpy(m[lane / 8][lane % 8], row, 16);
        }
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) {
                const int row = lane / 4, at = lane % 4 * 2;
                const uint32_t one = in->transposed ? m[i][at][row] : m[i][row][at],
                               two = in->transposed ? m[i][at + 1][row] : m[i][row][at + 1];
                t[lane].r[in->o[i].at] = one | two << 16;
            }
        return;
    }
    float a[16][16], b[16][8], c[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4, pair = lane % 4 * 2;
        for (int i = 0; i < 14; ++i) {
            const uint64_t x = value(&t[lane], &in->o[i]);
            const float one = in->is_bf16 ? bf16_of((uint16_t)x) : half_of((uint16_t)x),
                        two = in->is_bf16 ? bf16_of((uint16_t)(x >> 16)) : half_of((uint16_t)(x >> 16));
            if (i < 4) continue;
            if (i < 8) {
                float *row = a[group + (i - 4) % 2 * 8] + pair + (i - 4) / 2 * 8;
                row[0] = one, row[1] = two;
            } else if (i < 10) {
                b[pair + (i - 8) * 8][group] = one, b[pair + (i - 8) * 8 + 1][group] = two;
            } else {
                c[group + (i - 10) / 2 * 8][pair + i % 2] = as_float(x);
            }
        }
    }
    for (int m = 0; m < 16; ++m)
        for (int k = 0; k < 16; ++k)
            for (int n = 0; n < 8; ++n) c[m][n] += a[m][k] * b[k][n];
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 4; ++i) t[lane].r[in->o[i].at] = of_float(c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
}

// Runs a work-item until it has to wait for others.
static void advance(struct run *run, int item)
{
    struct item *t = &run->items[item];
    uint64_t *r = t->r;
    const char *wrong = NULL;
    while (!*run->error) {
        const struct instruction *in = &run->p->code[t->pc];
        if (in->guard >= 0 && (r[in->guard] != 0) == in->unless) {
            ++t->pc;
            continue;
        }
        const struct operand *o = in->o;
        switch (in->op) {
        case BAR:
        case LDMATRIX:
        case MMA:
        case SHFL:
        case WGMMA:
        case WGMMA_FENCE:
        case WGMMA_COMMIT:
        case WGMMA_WAIT: return;
        case PROXY_FENCE: t->fenced = run->writes; break;
        case RET: t->done = 1; return;
        case BRA: t->pc = o[0].at; continue;
        case MOV: r[o[0].at] = low(value(t, &o[1]), in->type); break;
        case PACK:
        case UNPACK: {
            const int n = in->count - 1, bits = 8 * size_of(in->type) / n;
            if (in->op == PACK) {
                uint64_t all = 0;
                for (int i = 0; i < n; ++i) all |= (value(t, &o[1 + i]) & (((uint64_t)1 << bits) - 1)) << i * bits;
                r[o[0].at] = all;
            } else {
                const uint64_t all = value(t, &o[n]);
                for (int i = 0; i < n; ++i) r[o[i].at] = all >> i * bits & (((uint64_t)1 << bits) - 1);
            }
            break;
        }
        case CVT: r[o[0].at] = converted(in, &wrong, value(t, &o[1])); break;
        case CVTA: {
            const uint64_t window = in->space == SHARED ? SHARED_WINDOW : in->space == LOCAL ? LOCAL_WINDOW : 0, x = value(t, &o[1]);
            if (in->to_window && (x & (SHARED_WINDOW | LOCAL_WINDOW)) != window)
                trouble(run, in, item, "converts an address of another memory");
            r[o[0].at] = in->to_window ? x & ~window : x | window;
            break;
        }
        case SETP: r[o[0].at] = compared(in, value(t, &o[1]), value(t, &o[2])); break;
        case SELP: r[o[0].at] = value(t, value(t, &o[3]) ? &o[1] : &o[2]); break;
        case BFI: {
            const uint32_t at = value(t, &o[3]) & 255, length = value(t, &o[4]) & 255;
            const uint64_t mask = (length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1) << (at > 63 ? 63 : at);
            r[o[0].at] = low((value(t, &o[1]) << at & mask) | (value(t, &o[2]) & ~mask), in->type);
            break;
        }
        case LD:
        case ST: {
            const int size = size_of(in->type), is_write = in->op == ST, n = in->lanes;
            uint8_t *memory = reach(run, in, item, in->space, address(t, &o[is_write ? 0 : n]), size * n, is_write);
            for (int i = 0; memory && i < n; ++i, memory += size) {
                if (is_write) {
                    const uint64_t x = value(t, &o[1 + i]);
                    memcpy(memory, &x, size);
                } else {
                    uint64_t x = 0;
                    memcpy(&x, memory, size);
                    r[o[i].at] = is_signed(in->type) ? low((uint64_t)extended(x, in->type), B64) : x;
                }
            }
            break;
        }
        case ATOM_ADD: {
            const int is_returned = in->count == 3;
            uint8_t *memory = reach(run, in, item, in->space, address(t, &o[is_returned]), 4, ATOM);
            uint32_t x = 0;
            if (!memory) break;
            memcpy(&x, memory, 4);
            if (is_returned) r[o[0].at] = x;
            x += (uint32_t)value(t, &o[is_returned + 1]);
            memcpy(memory, &x, 4);
            break;
        }
        case CP_ASYNC: copy_in_background(run, in, item); break;
        case COMMIT:
            if (t->group_count == t->group_room)
                t->groups = realloc(t->groups, (t->group_room = 2 * t->group_room + 16) * sizeof *t->groups);
            t->groups[t->group_count++] = t->copy_count;
            break;
        case WAIT: arrive(run, item, (int)value(t, &o[0])); break;
        default:
            r[o[0].at] = arithmetic(in, &wrong, value(t, &o[1]), in->count > 2 ? value(t, &o[2]) : 0, in->count > 3 ? value(t, &o[3]) : 0);
        }
        if (wrong) trouble(run, in, item, "%s", wrong);
        ++t->pc;
    }
}

// Runs a work-group whose work-items are at the beginning.
static void run_group(struct run *run)
{
    const struct instruction *code = run->p->code;
    while (!*run->error) {
        int done = 0, waiting = 0;
        for (int first = 0; first < run->item_count && !*run->error; first += 32) {
            const int lanes = run->item_count - first < 32 ? run->item_count - first : 32;
            for (;;) {
                int alike = 1;
                for (int lane = 0; lane < lanes; ++lane) {
                    struct item *t = &run->items[first + lane];
                    if (!t->done) advance(run, first + lane);
                    alike &= t->pc == run->items[first].pc && t->done == run->items[first].done;
                }
                const struct instruction *in = &code[run->items[first].pc];
                if (*run->error || run->items[first].done || in->op == BAR) break;
                if (!alike || lanes < 32) trouble(run, in, first, "not the whole warp is here");
                else together(run, in, first);
                for (int lane = 0; lane < lanes; ++lane) ++run->items[first + lane].pc;
                if (*run->error) break;
            }
            for (int lane = 0; lane < lanes; ++lane) done += run->items[first + lane].done, waiting += !run->items[first + lane].done;
        }
        if (!waiting) finish_products(run);
        if (*run->error || !waiting) return;
        for (int i = 0; i < run->item_count; ++i) {
            const struct instruction *in = &code[run->items[i].pc];
            // a barrier that some have left behind for good hangs a GPU or does not, by its generation
            if (done || in->op != BAR || in->o[0].bits) trouble(run, in, i, "not the whole work-group is at the barrier");
            ++run->items[i].pc;
        }
        ++run->interval;
    }
}

// Launches an entry of a program; a sentence in `error` where it is at fault.
static void ptx_launch(const struct program *p, const struct entry *entry, const unsigned *groups, const unsigned *items, size_t dynamic,
                       void **arguments, char *error)
{
    struct run run = {.p = p, .entry = entry, .interval = 1, .error = error};
    *error = 0;
    run.item_count = (int)(items[0] * items[1] * items[2]);
    run.shared_bytes = dynamic && p->dynamic_from + dynamic > p->shared ? p->dynamic_from + dynamic : p->shared;
    run.shared = malloc(run.shared_bytes + 16);
    run.cells = calloc(run.shared_bytes / 2 + 8, sizeof *run.cells);
    run.parameters = calloc(1, entry->bytes + 8);
    for (int i = 0; i < entry->parameter_count; ++i)
        memcpy(run.parameters + entry->parameter_at[i], arguments[i], size_of(entry->parameter_type[i]));
    run.items = calloc(run.item_count, sizeof *run.items);
    run.products = calloc((run.item_count + 31) / 32, sizeof *run.products);
    for (int i = 0; i < run.item_count; ++i) {
        run.items[i].r = malloc(p->registers * sizeof(uint64_t));
        run.items[i].local = malloc(p->local + 16);
    }
    const unsigned total = groups[0] * groups[1] * groups[2];
    for (unsigned g = 0; g < total && !*error; ++g) {
        const unsigned group[3] = {g % groups[0], g / groups[0] % groups[1], g / groups[0] / groups[1]};
        run.group = (int)g;
        run.first_interval = ++run.interval;
        run.writes = 0;
        memset(run.products, 0, (run.item_count + 31) / 32 * sizeof *run.products);
        memset(run.shared, 0xff, run.shared_bytes); // not a number
        for (int i = 0; i < run.item_count; ++i) {
            struct item *t = &run.items[i];
            memset(t->r, 0xff, p->registers * sizeof(uint64_t));
            memset(t->local, 0xff, p->local);
            const unsigned at[3] = {i % items[0], i / items[0] % items[1], i / items[0] / items[1]};
            for (int d = 0; d < 3; ++d)
                t->r[TID + d] = at[d], t->r[NTID + d] = items[d], t->r[CTAID + d] = group[d], t->r[NCTAID + d] = groups[d];
            t->pc = entry->start;
            t->done = t->copy_count = t->group_count = 0;
            t->fenced = 0;
        }
        run_group(&run);
    }
    for (int i = 0; i < run.item_count; ++i) {
        free(run.items[i].r), free(run.items[i].local), free(run.items[i].copies), free(run.items[i].groups);
    }
    free(run.items), free(run.products), free(run.parameters), free(run.cells), free(run.shared);
}
