/* SPDX-License-Identifier: MIT */
/* mpi-program.c - what mpi.t runs: a part of it by name, in C and C++. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks;

/* Ten messages around the ring, and a barrier. */
static void ring(MPI_Comm comm)
{
    int here, of, token = 0;

    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &of);
    for (int i = 0; i < 10; i++) {
        MPI_Request request;
        MPI_Irecv(&token, 1, MPI_INT, (here + of - 1) % of, 7, comm, &request);
        MPI_Send(&here, 1, MPI_INT, (here + 1) % of, 7, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
}

/* Even and odd ranks apart. */
static void split(void)
{
    MPI_Comm half;
    int sum = 0;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    ring(half);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    printf("%d %d\n", rank, sum);
    MPI_Comm_free(&half);
}

static void *talk(void *tag)
{
    int other = rank ^ 1, mine = rank, got = -1;

    for (int i = 0; i < 25; i++) {
        MPI_Request request;
        MPI_Isend(&mine, 1, MPI_INT, other, (int)(long)tag, MPI_COMM_WORLD, &request);
        MPI_Recv(&got, 1, MPI_INT, other, (int)(long)tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t id[4];

    for (long i = 0; i < 4; i++)
        pthread_create(&id[i], NULL, talk, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

/* Until somebody ends it. */
static void endless(void)
{
    struct timespec nap = {0, 1000000};

    for (;;) {
        ring(MPI_COMM_WORLD);
        nanosleep(&nap, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ring";
    int level = MPI_THREAD_SINGLE;

    if (strcmp(what, "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(what, "threads") == 0 && level == MPI_THREAD_MULTIPLE)
        threads();
    else if (strcmp(what, "split") == 0)
        split();
    else if (strcmp(what, "endless") == 0)
        endless();
    else
        ring(MPI_COMM_WORLD);
    if (strcmp(what, "dies") == 0 && rank == ranks - 1)
        raise(SIGKILL);
    if (strcmp(what, "aborts") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(what, "late") == 0 && rank == 1)
        sleep(4);
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
