/* Output of small records into a file: each by write(), or by fwrite(), which
 * collects them in a buffer of the C library and writes that when it is full.
 *
 * output write|fwrite BYTES FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS = 500000 };

static void fail(const char *why) {
    perror(why);
    exit(1);
}

int main(int argc, char **argv) {
    size_t bytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    int buffered = argc == 4 && strcmp(argv[1], "fwrite") == 0;
    if (bytes == 0 || (!buffered && strcmp(argv[1], "write") != 0)) {
        fprintf(stderr, "Usage: output write|fwrite BYTES FILE\n");
        return 2;
    }
    char *record = malloc(bytes);
    FILE *file = fopen(argv[3], "w");
    if (record == NULL || file == NULL)
        fail("open the file");
    memset(record, 'x', bytes);
    int fd = fileno(file);
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < RECORDS; i++) {
        size_t written = buffered ? fwrite(record, 1, bytes, file)
                                  : (size_t)write(fd, record, bytes);
        if (written != bytes)
            fail("write a record");
    }
    /* What is left in the buffer belongs to the output. */
    if (fflush(file) != 0)
        fail("flush the file");
    clock_gettime(CLOCK_MONOTONIC, &t1);
    struct stat found;
    if (fstat(fd, &found) != 0 || (size_t)found.st_size != RECORDS * bytes) {
        fprintf(stderr, "the file has another size\n");
        return 1;
    }
    double ns = (t1.tv_sec - t0.tv_sec) * 1e9 + (t1.tv_nsec - t0.tv_nsec);
    printf("%d records, %.3f ns each\n", RECORDS, ns / RECORDS);
    return 0;
}
