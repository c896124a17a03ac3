/* Process creation as HBench-OS has it (lat_proc), from a program that is
 * linked dynamically:
 *
 * ph2000 null HELLO       fork(), and _exit() in the child
 * ph2000 simple HELLO     fork(), and execve() of a program that prints
 *                         hello world
 * ph2000 shell HELLO      the same program by system(), which uses /bin/sh
 *
 * Each is timed with the wait for its end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OPS = 1000, WARM_OPS = 20 };

static void fail(const char *why) {
    perror(why);
    exit(1);
}

static int status_of_fork(char *hello) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (hello == NULL)
            _exit(0);
        execve(hello, (char *[]){hello, NULL}, environ);
        _exit(127);
    }
    if (child < 0)
        fail("fork");
    if (waitpid(child, &status, 0) != child)
        fail("waitpid");
    return status;
}

int main(int argc, char **argv) {
    int null = argc == 3 && strcmp(argv[1], "null") == 0;
    int simple = argc == 3 && strcmp(argv[1], "simple") == 0;
    int shell = argc == 3 && strcmp(argv[1], "shell") == 0;
    if (!null && !simple && !shell) {
        fprintf(stderr, "Usage: ph2000 null|simple|shell HELLO\n");
        return 2;
    }
    /* What hello prints goes nowhere. */
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (output < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        fail("the output");
    struct timespec t0, t1;
    for (int op = 0; op < WARM_OPS + OPS; op++) {
        if (op == WARM_OPS)
            clock_gettime(CLOCK_MONOTONIC, &t0);
        int status = shell ? system(argv[2])
                           : status_of_fork(simple ? argv[2] : NULL);
        if (status != 0) {
            fprintf(stderr, "wait status %d of process %d\n", status, op);
            return 1;
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &t1);
    double ns = (t1.tv_sec - t0.tv_sec) * 1e9 + (t1.tv_nsec - t0.tv_nsec);
    dprintf(output, "%d processes, %.1f ns each\n", OPS, ns / OPS);
    return 0;
}
