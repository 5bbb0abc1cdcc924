/* SPDX-License-Identifier: MIT */
/* tallytree-mpi-calls.h - the calls of MPI that are timed: a part of tallytree-mpi.c. */
#ifndef TT_MPI_CALLS_H
#define TT_MPI_CALLS_H

/* X(name, name in Fortran, arguments, their declarations, themselves): those that move
 * data or wait.  As the standard declares them. */
#define CALLS(X)                                                                         \
    X(Bsend, bsend, 6, (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), \
      (a, b, c, d, e, f))                                                                \
    X(Mrecv, mrecv, 5, (void *a, int b, MPI_Datatype c, MPI_Message *d, MPI_Status *e),  \
      (a, b, c, d, e))                                                                   \
    X(Mprobe, mprobe, 5, (int a, int b, MPI_Comm c, MPI_Message *d, MPI_Status *e),      \
      (a, b, c, d, e))                                                                   \
    X(Iprobe, iprobe, 5, (int a, int b, MPI_Comm c, int *d, MPI_Status *e),              \
      (a, b, c, d, e))                                                                   \
    X(Isend, isend, 7,                                                                   \
      (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g),  \
      (a, b, c, d, e, f, g))                                                             \
    X(Start, start, 1, (MPI_Request * a), (a))                                           \
    X(Startall, startall, 2, (int a, MPI_Request b[]), (a, b))                           \
    X(Waitsome, waitsome, 5, (int a, MPI_Request b[], int *c, int d[], MPI_Status e[]),  \
      (a, b, c, d, e))                                                                   \
    X(Test, test, 3, (MPI_Request * a, int *b, MPI_Status *c), (a, b, c))                \
    X(Testany, testany, 5, (int a, MPI_Request b[], int *c, int *d, MPI_Status *e),      \
      (a, b, c, d, e))                                                                   \
    X(Testall, testall, 4, (int a, MPI_Request b[], int *c, MPI_Status d[]),             \
      (a, b, c, d))                                                                      \
    X(Testsome, testsome, 5, (int a, MPI_Request b[], int *c, int d[], MPI_Status e[]),  \
      (a, b, c, d, e))                                                                   \
    X(Barrier, barrier, 1, (MPI_Comm a), (a))                                            \
    X(Bcast, bcast, 5, (void *a, int b, MPI_Datatype c, int d, MPI_Comm e),              \
      (a, b, c, d, e))                                                                   \
    X(Gather, gather, 8,                                                                 \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g,      \
       MPI_Comm h),                                                                      \
      (a, b, c, d, e, f, g, h))                                                          \
    X(Gatherv, gatherv, 9,                                                               \
      (const void *a, int b, MPI_Datatype c, void *d, const int e[], const int f[],      \
       MPI_Datatype g, int h, MPI_Comm i),                                               \
      (a, b, c, d, e, f, g, h, i))                                                       \
    X(Scatter, scatter, 8,                                                               \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g,      \
       MPI_Comm h),                                                                      \
      (a, b, c, d, e, f, g, h))                                                          \
    X(Scatterv, scatterv, 9,                                                             \
      (const void *a, const int b[], const int c[], MPI_Datatype d, void *e, int f,      \
       MPI_Datatype g, int h, MPI_Comm i),                                               \
      (a, b, c, d, e, f, g, h, i))                                                       \
    X(Allgather, allgather, 7,                                                           \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f,             \
       MPI_Comm g),                                                                      \
      (a, b, c, d, e, f, g))                                                             \
    X(Allgatherv, allgatherv, 8,                                                         \
      (const void *a, int b, MPI_Datatype c, void *d, const int e[], const int f[],      \
       MPI_Datatype g, MPI_Comm h),                                                      \
      (a, b, c, d, e, f, g, h))                                                          \
    X(Alltoall, alltoall, 7,                                                             \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f,             \
       MPI_Comm g),                                                                      \
      (a, b, c, d, e, f, g))                                                             \
    X(Alltoallv, alltoallv, 9,                                                           \
      (const void *a, const int b[], const int c[], MPI_Datatype d, void *e,             \
       const int f[], const int g[], MPI_Datatype h, MPI_Comm i),                        \
      (a, b, c, d, e, f, g, h, i))                                                       \
    X(Alltoallw, alltoallw, 9,                                                           \
      (const void *a, const int b[], const int c[], const MPI_Datatype d[], void *e,     \
       const int f[], const int g[], const MPI_Datatype h[], MPI_Comm i),                \
      (a, b, c, d, e, f, g, h, i))                                                       \
    X(Reduce, reduce, 7,                                                                 \
      (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g),      \
      (a, b, c, d, e, f, g))                                                             \
    X(Allreduce, allreduce, 6,                                                           \
      (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),             \
      (a, b, c, d, e, f))                                                                \
    X(Reduce_scatter, reduce_scatter, 6,                                                 \
      (const void *a, void *b, const int c[], MPI_Datatype d, MPI_Op e, MPI_Comm f),     \
      (a, b, c, d, e, f))                                                                \
    X(Reduce_scatter_block, reduce_scatter_block, 6,                                     \
      (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),             \
      (a, b, c, d, e, f))                                                                \
    X(Scan, scan, 6,                                                                     \
      (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),             \
      (a, b, c, d, e, f))                                                                \
    X(Exscan, exscan, 6,                                                                 \
      (const void *a, void *b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),             \
      (a, b, c, d, e, f))                                                                \
    X(Neighbor_allgather, neighbor_allgather, 7,                                         \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f,             \
       MPI_Comm g),                                                                      \
      (a, b, c, d, e, f, g))                                                             \
    X(Neighbor_allgatherv, neighbor_allgatherv, 8,                                       \
      (const void *a, int b, MPI_Datatype c, void *d, const int e[], const int f[],      \
       MPI_Datatype g, MPI_Comm h),                                                      \
      (a, b, c, d, e, f, g, h))                                                          \
    X(Neighbor_alltoall, neighbor_alltoall, 7,                                           \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f,             \
       MPI_Comm g),                                                                      \
      (a, b, c, d, e, f, g))                                                             \
    X(Neighbor_alltoallv, neighbor_alltoallv, 9,                                         \
      (const void *a, const int b[], const int c[], MPI_Datatype d, void *e,             \
       const int f[], const int g[], MPI_Datatype h, MPI_Comm i),                        \
      (a, b, c, d, e, f, g, h, i))                                                       \
    X(Comm_dup, comm_dup, 2, (MPI_Comm a, MPI_Comm * b), (a, b))                         \
    X(Comm_split, comm_split, 4, (MPI_Comm a, int b, int c, MPI_Comm *d), (a, b, c, d))  \
    X(Comm_create, comm_create, 3, (MPI_Comm a, MPI_Group b, MPI_Comm * c), (a, b, c))   \
    X(Cart_create, cart_create, 6,                                                       \
      (MPI_Comm a, int b, const int c[], const int d[], int e, MPI_Comm *f),             \
      (a, b, c, d, e, f))                                                                \
    X(Dist_graph_create_adjacent, dist_graph_create_adjacent, 10,                        \
      (MPI_Comm a, int b, const int c[], const int d[], int e, const int f[],            \
       const int g[], MPI_Info h, int i, MPI_Comm *j),                                   \
      (a, b, c, d, e, f, g, h, i, j))                                                    \
    X(Intercomm_create, intercomm_create, 6,                                             \
      (MPI_Comm a, int b, MPI_Comm c, int d, int e, MPI_Comm *f), (a, b, c, d, e, f))    \
    X(Intercomm_merge, intercomm_merge, 3, (MPI_Comm a, int b, MPI_Comm *c), (a, b, c))  \
    X(Win_create, win_create, 6,                                                         \
      (void *a, MPI_Aint b, int c, MPI_Info d, MPI_Comm e, MPI_Win *f),                  \
      (a, b, c, d, e, f))                                                                \
    X(Win_free, win_free, 1, (MPI_Win * a), (a))                                         \
    X(Win_fence, win_fence, 2, (int a, MPI_Win b), (a, b))                               \
    X(Win_lock, win_lock, 4, (int a, int b, int c, MPI_Win d), (a, b, c, d))             \
    X(Win_unlock, win_unlock, 2, (int a, MPI_Win b), (a, b))                             \
    X(Win_lock_all, win_lock_all, 2, (int a, MPI_Win b), (a, b))                         \
    X(Win_unlock_all, win_unlock_all, 1, (MPI_Win a), (a))                               \
    X(Win_flush, win_flush, 2, (int a, MPI_Win b), (a, b))                               \
    X(Win_flush_all, win_flush_all, 1, (MPI_Win a), (a))                                 \
    X(Win_post, win_post, 3, (MPI_Group a, int b, MPI_Win c), (a, b, c))                 \
    X(Win_start, win_start, 3, (MPI_Group a, int b, MPI_Win c), (a, b, c))               \
    X(Win_complete, win_complete, 1, (MPI_Win a), (a))                                   \
    X(Win_wait, win_wait, 1, (MPI_Win a), (a))                                           \
    X(Put, put, 8,                                                                       \
      (const void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,   \
       MPI_Win h),                                                                       \
      (a, b, c, d, e, f, g, h))                                                          \
    X(Get, get, 8,                                                                       \
      (void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,         \
       MPI_Win h),                                                                       \
      (a, b, c, d, e, f, g, h))                                                          \
    X(Accumulate, accumulate, 9,                                                         \
      (const void *a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,   \
       MPI_Op h, MPI_Win i),                                                             \
      (a, b, c, d, e, f, g, h, i))                                                       \
    X(Get_accumulate, get_accumulate, 12,                                                \
      (const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, int g,      \
       MPI_Aint h, int i, MPI_Datatype j, MPI_Op k, MPI_Win l),                          \
      (a, b, c, d, e, f, g, h, i, j, k, l))                                              \
    X(Fetch_and_op, fetch_and_op, 7,                                                     \
      (const void *a, void *b, MPI_Datatype c, int d, MPI_Aint e, MPI_Op f, MPI_Win g),  \
      (a, b, c, d, e, f, g))                                                             \
    X(Compare_and_swap, compare_and_swap, 7,                                             \
      (const void *a, const void *b, void *c, MPI_Datatype d, int e, MPI_Aint f,         \
       MPI_Win g),                                                                       \
      (a, b, c, d, e, f, g))                                                             \
    X(File_close, file_close, 1, (MPI_File * a), (a))                                    \
    X(File_sync, file_sync, 1, (MPI_File a), (a))                                        \
    X(File_read, file_read, 5,                                                           \
      (MPI_File a, void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))      \
    X(File_write, file_write, 5,                                                         \
      (MPI_File a, const void *b, int c, MPI_Datatype d, MPI_Status *e),                 \
      (a, b, c, d, e))                                                                   \
    X(File_read_all, file_read_all, 5,                                                   \
      (MPI_File a, void *b, int c, MPI_Datatype d, MPI_Status *e), (a, b, c, d, e))      \
    X(File_write_all, file_write_all, 5,                                                 \
      (MPI_File a, const void *b, int c, MPI_Datatype d, MPI_Status *e),                 \
      (a, b, c, d, e))                                                                   \
    X(File_read_at, file_read_at, 6,                                                     \
      (MPI_File a, MPI_Offset b, void *c, int d, MPI_Datatype e, MPI_Status *f),         \
      (a, b, c, d, e, f))                                                                \
    X(File_write_at, file_write_at, 6,                                                   \
      (MPI_File a, MPI_Offset b, const void *c, int d, MPI_Datatype e, MPI_Status *f),   \
      (a, b, c, d, e, f))                                                                \
    X(File_read_at_all, file_read_at_all, 6,                                             \
      (MPI_File a, MPI_Offset b, void *c, int d, MPI_Datatype e, MPI_Status *f),         \
      (a, b, c, d, e, f))                                                                \
    X(File_write_at_all, file_write_at_all, 6,                                           \
      (MPI_File a, MPI_Offset b, const void *c, int d, MPI_Datatype e, MPI_Status *f),   \
      (a, b, c, d, e, f))

/* Calls that wait for one rank; at the end: code before the call, the rank, the
 * communicator. */
#define CALLS_OF_PEERS(X)                                                                \
    X(Send, send, 6, (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),   \
      (a, b, c, d, e, f), , d, f)                                                        \
    X(Ssend, ssend, 6, (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), \
      (a, b, c, d, e, f), , d, f)                                                        \
    X(Rsend, rsend, 6, (const void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), \
      (a, b, c, d, e, f), , d, f)                                                        \
    X(Recv, recv, 7,                                                                     \
      (void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Status *g),         \
      (a, b, c, d, e, f, g), OWN_STATUS(g), g->MPI_SOURCE, f)                            \
    X(Probe, probe, 4, (int a, int b, MPI_Comm c, MPI_Status *d), (a, b, c, d),          \
      OWN_STATUS(d), d->MPI_SOURCE, c)                                                   \
    X(Sendrecv, sendrecv, 12,                                                            \
      (const void *a, int b, MPI_Datatype c, int d, int e, void *f, int g,               \
       MPI_Datatype h, int i, int j, MPI_Comm k, MPI_Status *l),                         \
      (a, b, c, d, e, f, g, h, i, j, k, l), OWN_STATUS(l), l->MPI_SOURCE, k)             \
    X(Sendrecv_replace, sendrecv_replace, 9,                                             \
      (void *a, int b, MPI_Datatype c, int d, int e, int f, int g, MPI_Comm h,           \
       MPI_Status *i),                                                                   \
      (a, b, c, d, e, f, g, h, i), OWN_STATUS(i), i->MPI_SOURCE, h)

/* Calls that need special code. */
#define CALLS_BY_HAND(X)                                                                 \
    X(Irecv, irecv, 7,                                                                   \
      (void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g),        \
      (a, b, c, d, e, f, g))                                                             \
    X(Wait, wait, 2, (MPI_Request * a, MPI_Status * b), (a, b))                          \
    X(Waitany, waitany, 4, (int a, MPI_Request b[], int *c, MPI_Status *d),              \
      (a, b, c, d))                                                                      \
    X(Waitall, waitall, 3, (int a, MPI_Request b[], MPI_Status *c), (a, b, c))           \
    X(Comm_free, comm_free, 1, (MPI_Comm * a), (a))

#endif
