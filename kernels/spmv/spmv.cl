// y = A x with a sparse A in compressed rows: row r has the elements starts[r] .. starts[r + 1] - 1 of columns and values, f32.
//
// A work-group computes ROWS rows. Its work-items form teams of TEAM; a team computes RPT rows. STREAM = 0: a team walks the elements of
// its rows; rows that are longer than LONG of its steps wait until the whole work-group has them. STREAM = 1: the work-group walks
// the elements of all its rows in chunks, puts the products into local memory, and its teams add up their rows from there.

#ifndef WG
#define WG 64     // work-items per work-group
#endif
#ifndef TEAM
#define TEAM 1       // work-items of a team, which computes a row at a time
#endif
#ifndef RPT
#define RPT 1     // rows per team
#endif
#ifndef STRR
#define STRR 0    // 1: a team's rows are as many rows apart as there are teams instead of adjacent
#endif
#ifndef V
#define V 1       // elements of a load
#endif
#ifndef U
#define U 1       // unrolling of the loop over loads
#endif
#ifndef STREAM
#define STREAM 0  // 1: products go through local memory
#endif
#ifndef PAD
#define PAD 0     // 1: each 32 products in local memory are padded by one
#endif
#ifndef LONG
#define LONG 0    // steps of a team beyond which a row is left to the work-group; 0: none is
#endif

#define TEAMS (WG / TEAM)
#define ROWS (TEAMS * RPT)
#define CHUNK (WG * V * U)
#define TOO_LONG (LONG * TEAM * V * U)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#if V == 1
typedef float vec;
#define LOADV(p, i) ((p)[i])
#else
typedef CAT(float, V) vec;
#define LOADV(p, i) CAT(vload, V)(0, (p) + (i))
#endif
#define LANE(v, i) (((float *)&(v))[i])

// elements of x that go with V values
inline vec gather(__global const float *x, __global const int *columns, const int i)
{
    vec g;
#if V == 1
    g = x[columns[i]];
#else
    // loaded as floats: whole vectors of bits
    const vec c = LOADV((__global const float *)columns, i);
#pragma unroll
    for (int l = 0; l < V; ++l) LANE(g, l) = x[as_int(LANE(c, l))];
#endif
    return g;
}

// What one of several lanes adds up of a row.
inline float part_of_row(__global const int *columns, __global const float *values, __global const float *x, const int begin,
                         const int end, const int lane, const int lanes)
{
    // vectors begin at multiples of V
    const int body = min((begin + V - 1) / V * V, end), tail = body + (end - body) / V * V;
    vec acc[U];
#pragma unroll
    for (int u = 0; u < U; ++u) acc[u] = (vec)(0.0f);
    int i = body + lane * V;
    for (; i + lanes * V * (U - 1) < tail; i += lanes * V * U) {
#pragma unroll
        for (int u = 0; u < U; ++u)
            acc[u] = mad(LOADV(values, i + u * lanes * V), gather(x, columns, i + u * lanes * V), acc[u]);
    }
#if U > 1
    for (; i < tail; i += lanes * V) acc[0] = mad(LOADV(values, i), gather(x, columns, i), acc[0]);
#endif
    float sum = 0.0f;
#if V > 1
    for (i = begin + lane; i < body; i += lanes) sum += values[i] * x[columns[i]];
    for (i = tail + lane; i < end; i += lanes) sum += values[i] * x[columns[i]];
#endif
#pragma unroll
    for (int u = 0; u < U; ++u) {
#pragma unroll
        for (int l = 0; l < V; ++l) sum += LANE(acc[u], l);
    }
    return sum;
}

#define ROW(k) (row0 + (STRR ? (k) * TEAMS + team : team * RPT + (k)))
#define PLACE(i) (PAD ? (i) + (i) / 32 : (i))

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void spmv(const int rows, __global const int *restrict starts, __global const int *restrict columns,
          __global const float *restrict values, __global const float *restrict x, __global float *restrict y)
{
    const int tid = get_local_id(0), lane = tid % TEAM, team = tid / TEAM;
    const int row0 = get_group_id(0) * ROWS;

    int begin[RPT], end[RPT];
    float sum[RPT];
#pragma unroll
    for (int k = 0; k < RPT; ++k) {
        // rows beyond the last are empty
        begin[k] = starts[min(ROW(k), rows)];
        end[k] = starts[min(ROW(k) + 1, rows)];
        sum[k] = 0.0f;
    }

#if STREAM
    __local float products[PLACE(CHUNK)];
    const int first = starts[row0], last = starts[min(row0 + ROWS, rows)];
    for (int base = first / V * V; base < last; base += CHUNK) {
        vec product[U];
#pragma unroll
        for (int u = 0; u < U; ++u) {
#if V == 1
            // work-items beyond the last element read that one again, and nobody reads what they store
            const int i = min(base + u * WG + tid, last - 1);
            product[u] = LOADV(values, i) * gather(x, columns, i);
#else
            const int i = base + (u * WG + tid) * V;
            if (i >= first && i + V <= last) {
                product[u] = LOADV(values, i) * gather(x, columns, i);
            } else {
                for (int l = 0; l < V; ++l)
                    LANE(product[u], l) = i + l >= first && i + l < last ? values[i + l] * x[columns[i + l]] : 0.0f;
            }
#endif
        }
#pragma unroll
        for (int u = 0; u < U; ++u) {
#pragma unroll
            for (int l = 0; l < V; ++l) products[PLACE((u * WG + tid) * V + l)] = LANE(product[u], l);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < RPT; ++k) {
            const int stop = min(end[k], base + CHUNK) - base;
            for (int i = max(begin[k], base) - base + lane; i < stop; i += TEAM) sum[k] += products[PLACE(i)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
#if LONG
    __local int long_rows[ROWS], count[1];
    if (tid == 0) count[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#pragma unroll
    for (int k = 0; k < RPT; ++k) {
#if LONG
        if (end[k] - begin[k] > TOO_LONG) {
            if (lane == 0) long_rows[atomic_inc(&count[0])] = ROW(k);
            continue;
        }
#endif
        sum[k] = part_of_row(columns, values, x, begin[k], end[k], lane, TEAM);
    }
#endif

#if TEAM == 1
#pragma unroll
    for (int k = 0; k < RPT; ++k)
        if (ROW(k) < rows && (!LONG || end[k] - begin[k] <= TOO_LONG)) y[ROW(k)] = sum[k];
#else
    // the parts of a row are halved until one is left, and stored in the order of the rows
    __local float parts[RPT * WG];
#pragma unroll
    for (int k = 0; k < RPT; ++k) parts[k * WG + tid] = sum[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = TEAM / 2; width > 0; width /= 2) {
        if (lane < width) {
#pragma unroll
            for (int k = 0; k < RPT; ++k) parts[k * WG + tid] += parts[k * WG + tid + width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = tid; r < ROWS; r += WG) {
        const int k = STRR ? r / TEAMS : r % RPT, of = STRR ? r % TEAMS : r / RPT, row = row0 + r;
        if (row < rows && (!LONG || starts[row + 1] - starts[row] <= TOO_LONG)) y[row] = parts[k * WG + of * TEAM];
    }
#endif

#if LONG
    __local float shares[WG];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int many = count[0];
    for (int j = 0; j < many; ++j) {
        const int row = long_rows[j];
        shares[tid] = part_of_row(columns, values, x, starts[row], starts[row + 1], tid, WG);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int width = WG / 2; width > 0; width /= 2) {
            if (tid < width) shares[tid] += shares[tid + width];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (tid == 0) y[row] = shares[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}
