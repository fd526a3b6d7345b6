// Products of warpgroups (wgmma.mma_async) by the PTX ISA: operands in shared memory as descriptors say, swizzled by 128 bytes. Each of the
// four warps adds up its own 16 rows, as late as the program allows; what is read must lie there from the instruction to the wait, and
// writes must have been fenced off for the asynchronous proxy, then met by a barrier.

#define MOST_PRODUCTS 64

struct products {
    struct {
        const struct instruction *in;
        uint64_t a, b;
        int adds;
    } queue[MOST_PRODUCTS];
    int count, groups[MOST_PRODUCTS], group_count; // where each group ends
    int is_fenced;
    uint32_t said; // a hash of its instructions, which the four warps share
};

// Where an element lies: `across` along M or N, k along K.
static uint32_t place_of(uint64_t descriptor, int is_mn_major, int across, int k)
{
    const uint32_t start = (uint32_t)(descriptor & 0x3fff) << 4, leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                   stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4;
    // an atom is 8 lines of 128 bytes; along K-major lines a product is less than one atom deep
    const uint32_t at = is_mn_major ? start + across % 64 * 2 + across / 64 * leading + k % 8 * 128 + k / 8 * stride
                                    : start + k * 2 + across % 8 * 128 + across / 8 * stride;
    return at ^ (at >> 7 & 7) << 4;
}

// The bits of an element, where it may be read.
static uint16_t element_of(struct run *run, const struct instruction *in, int item, uint32_t place)
{
    uint16_t bits = 0;
    const uint8_t *at = reach(run, in, item, SHARED, place, 2, 0);
    if (!at) return 0;
    memcpy(&bits, at, 2);
    const struct cell *c = &run->cells[(place - FIRST) / 2];
    if (c->written == run->interval)
        trouble(run, in, item, "multiplies shared byte %u, which was written since the last barrier", place - FIRST);
    if (c->writer >= run->item_count || c->when >= run->items[c->writer].fenced)
        trouble(run, in, item, "multiplies shared byte %u, which was not fenced off since %d wrote it", place - FIRST, c->writer);
    return bits;
}

static void read_operands(struct run *run, const struct instruction *in, int first, uint64_t a, uint64_t b, float (*left)[16],
                          float (*right)[16])
{
    const struct operand *rest = in->o + in->columns / 2;
    const int warp = first / 32 % 4;
    for (int k = 0; k < 16 && !*run->error; ++k) {
        for (int m = 0; m < 16; ++m) {
            const uint16_t x = element_of(run, in, first, place_of(a, rest[5].bits != 0, warp * 16 + m, k));
            left[m][k] = in->is_bf16 ? bf16_of(x) : half_of(x);
        }
        for (int n = 0; n < in->columns; ++n) {
            const uint16_t x = element_of(run, in, first, place_of(b, rest[6].bits != 0, n, k));
            right[n][k] = in->is_bf16 ? bf16_of(x) : half_of(x);
        }
    }
}

static void complete(struct run *run, int first, int left)
{
    struct products *q = &run->products[first / 32];
    const int groups = q->group_count - left;
    if (groups <= 0) return;
    const int done = q->groups[groups - 1];
    static float a[16][16], b[256][16];
    for (int p = 0; p < done && !*run->error; ++p) {
        const struct instruction *in = q->queue[p].in;
        read_operands(run, in, first, q->queue[p].a, q->queue[p].b, a, b);
        // of 8 columns a lane holds two neighbours in each of two rows, eight apart
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < in->columns / 2; ++i) {
                const int m = lane / 4 + i / 2 % 2 * 8, n = i / 4 * 8 + lane % 4 * 2 + i % 2;
                uint64_t *d = &run->items[first + lane].r[in->o[i].at];
                float sum = q->queue[p].adds ? as_float(*d) : 0;
                for (int k = 0; k < 16; ++k) sum += a[m][k] * b[n][k];
                *d = of_float(sum);
            }
    }
    memmove(q->queue, q->queue + done, (q->count -= done) * sizeof *q->queue);
    memmove(q->groups, q->groups + groups, (q->group_count -= groups) * sizeof *q->groups);
    for (int i = 0; i < q->group_count; ++i) q->groups[i] -= done;
}

// What a warp says of products.
static void warpgroup(struct run *run, const struct instruction *in, int first)
{
    struct products *q = &run->products[first / 32];
    const struct item *t = &run->items[first];
    q->said = q->said * 31 + (uint32_t)in->line;
    if (in->op == WGMMA_FENCE) q->is_fenced = 1;
    if (in->op == WGMMA_COMMIT) q->groups[q->group_count++] = q->count;
    if (in->op == WGMMA_WAIT) complete(run, first, (int)value(t, &in->o[0]));
    if (q->group_count == MOST_PRODUCTS || q->count == MOST_PRODUCTS) trouble(run, in, first, "too many products at a time");
    if (in->op != WGMMA || *run->error) return;
    if (!q->is_fenced) trouble(run, in, first, "no wgmma.fence before the first product");
    if (run->item_count % 128) trouble(run, in, first, "not a whole warpgroup");
    const struct operand *rest = in->o + in->columns / 2;
    const uint64_t a = value(t, &rest[0]), b = value(t, &rest[1]), adds = value(t, &rest[2]);
    for (int lane = 1; lane < 32; ++lane)
        if (value(t + lane, &rest[0]) != a || value(t + lane, &rest[1]) != b || value(t + lane, &rest[2]) != adds)
            trouble(run, in, first + lane, "lanes differ in what they multiply");
    if (rest[3].bits != 1 || rest[4].bits != 1) trouble(run, in, first, "a product with a sign");
    for (int i = 0; i < 2; ++i) {
        const uint64_t d = value(t, &rest[i]);
        // another swizzle than 128 bytes, a base offset, or bits that mean nothing
        if (d >> 62 != 1 || d & 0x3fffc000c000c000) trouble(run, in, first, "the descriptor %llx", (unsigned long long)d);
    }
    static float left[16][16], right[256][16];
    read_operands(run, in, first, a, b, left, right);
    q->queue[q->count].in = in, q->queue[q->count].a = a, q->queue[q->count].b = b, q->queue[q->count++].adds = adds != 0;
}

// What must hold when a work-group is done.
static void finish_products(struct run *run)
{
    for (int w = 0; w < run->item_count / 32; ++w) {
        const struct instruction *in = run->p->code;
        if (run->products[w].count || run->products[w].group_count) trouble(run, in, w * 32, "ends before its products do");
        if (run->products[w].said != run->products[w / 4 * 4].said)
            trouble(run, in, w * 32, "warps of a warpgroup differ in their products");
    }
}
