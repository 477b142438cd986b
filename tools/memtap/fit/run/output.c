/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (64 << 20)
#define MOST_LINES 6
#define MOST_SEARCHED (256 << 10) /* bytes; a server's other processes print after the reason */

int mt_output_begin(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/output.txt", folder) >= (int)sizeof path)
        return -ENAMETOOLONG;
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool failed = fd < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
                  dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0;
    int rc = failed ? -errno : fd;
    if (nothing >= 0)
        close(nothing);
    return rc;
}

void mt_output_bound(int fd)
{
    struct stat status;
    if (!fstat(fd, &status) && status.st_size > MOST_BYTES && ftruncate(fd, 0))
        return; /* the file is still growing */
}

/* Split a line that a progress bar rewrites. */
static void unite(char *text)
{
    size_t n = 0;
    for (char *at = text; *at; at++) {
        char byte = *at == '\r' ? '\n' : *at;
        if (byte != '\n' || (n && text[n - 1] != '\n'))
            text[n++] = byte;
    }
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
}

/* Read the end of a file, terminated by 0. Return its size. */
static size_t read_end(int fd, char *text, size_t size)
{
    struct stat status;
    off_t begin =
        !fstat(fd, &status) && status.st_size >= (off_t)size ? status.st_size - (off_t)size + 1 : 0;
    ssize_t n = pread(fd, text, size - 1, begin);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

void mt_output_last(int fd, char *out, size_t size)
{
    char text[8192];
    read_end(fd, text, sizeof text);
    unite(text);
    const char *at = text + strlen(text);
    for (int lines = 0; at > text && (size_t)(text + strlen(text) - at) < size - 1; at--)
        if (at[-1] == '\n' && ++lines == MOST_LINES)
            break;
    snprintf(out, size, "%s", at);
}

bool mt_output_is_of_memory(int fd)
{
    static const char *const words[] = {
        "CUDA out of memory", "CUDA error: out of memory", "cudaErrorMemoryAllocation",
        "CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED",
        "CUSOLVER_STATUS_ALLOC_FAILED", "CUSPARSE_STATUS_ALLOC_FAILED", "CUFFT_ALLOC_FAILED",
        /* vLLM, whose cache gets what is left, which may be too small for a request; SGLang */
        "larger than the available KV cache memory", "No available memory for the cache blocks",
        "Not enough memory. Please try to increase --mem-fraction-static"};
    static char text[MOST_SEARCHED];
    size_t n = read_end(fd, text, sizeof text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(text, n, words[i], strlen(words[i])))
            return true;
    return false;
}

uint64_t mt_output_advice(int fd)
{
    static const char words[] = "the estimated maximum model length is "; /* vLLM */
    static char text[MOST_SEARCHED];
    size_t n = read_end(fd, text, sizeof text);
    const char *said = memmem(text, n, words, sizeof words - 1);
    return said ? strtoull(said + sizeof words - 1, NULL, 10) : 0;
}

void mt_output_print_last(const char *last, FILE *out, const struct mt_style *style)
{
    while (*last) {
        char line[512], safe[1536];
        size_t n = strcspn(last, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, last);
        mt_safe_text(safe, sizeof safe, line, 0, MT_CUT_END, style);
        fprintf(out, "    %s\n", safe);
        last += n + (last[n] == '\n');
    }
}
