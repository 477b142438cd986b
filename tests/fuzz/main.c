/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A harness without libFuzzer: main [-runs=N] [-seed=N] [-max_total_time=S] FILE|FOLDER...
 * First each file as it is, then N inputs that are made of them: bytes changed, pieces left out,
 * doubled, or taken of another file. The same seed makes the same inputs. Nothing is learnt from
 * what an input reaches; libFuzzer does that (tools/fuzz). A crash tells the input's number, and
 * writes it to crash-SEED-NUMBER.
 */
#include "target.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MOST 8192u /* bytes of an input */
#define FILES 4096u

static struct input {
    uint8_t *bytes;
    size_t size;
} files[FILES];
static size_t n_files;
static uint64_t state, seed = 1;
static unsigned long number;
static uint8_t made[MOST], *current;
static size_t current_size;

static uint64_t any(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void add_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct input *input = &files[n_files];
    if (!file || n_files == FILES)
        exit(fprintf(stderr, "%s: cannot be read\n", path) < 0 ? 2 : 1);
    input->bytes = malloc(MOST);
    if (!input->bytes)
        abort();
    input->size = fread(input->bytes, 1, MOST, file);
    n_files++;
    fclose(file);
}

/* In the order of their names, which is the same everywhere. */
static void add(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        add_file(path);
        return;
    }
    for (int i = 0; i < n; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (*entries[i]->d_name != '.')
            add_file(name);
        free(entries[i]);
    }
    free(entries);
}

static size_t change(size_t size)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
    size_t at = any(size), piece = 1 + any(size - at);
    piece = any(2) ? 1 + (piece - 1) % 12 : piece;
    switch (any(6)) {
    case 0:
        made[at] ^= (uint8_t)(1u << any(8));
        return size;
    case 1:
        made[at] = edges[any(sizeof edges)];
        return size;
    case 2:
        made[at] = (uint8_t)any(256);
        return size;
    case 3: /* left out */
        memmove(made + at, made + at + piece, size - at - piece);
        return size - piece;
    case 4: /* doubled */
        if (size + piece > MOST)
            return size;
        memmove(made + at + piece, made + at, size - at);
        return size + piece;
    default: { /* of another */
        const struct input *other = &files[any(n_files)];
        size_t from = other->size ? any(other->size) : 0;
        size_t n = other->size - from < size - at ? other->size - from : size - at;
        memcpy(made + at, other->bytes + from, n);
        return size;
    }
    }
}

static size_t make(void)
{
    const struct input *input = &files[any(n_files)];
    size_t size = input->size;
    memcpy(made, input->bytes, size);
    for (uint64_t n = 1 + any(8); n && size; n--)
        size = change(size);
    return size;
}

/* A block exactly as large: a byte too far is seen by a sanitizer. */
static void run(const uint8_t *bytes, size_t size)
{
    current = malloc(size ? size : 1);
    if (!current)
        abort();
    memcpy(current, bytes, size);
    current_size = size;
    LLVMFuzzerTestOneInput(current, size);
    free(current);
}

static void notify(int signal_number)
{
    char name[64], text[128];
    snprintf(name, sizeof name, "crash-%llu-%lu", (unsigned long long)seed, number);
    FILE *file = fopen(name, "wb");
    if (file) {
        fwrite(current, 1, current_size, file);
        fclose(file);
    }
    int n = snprintf(text, sizeof text, "signal %d in input %lu of seed %llu; it is in %s\n",
                     signal_number, number, (unsigned long long)seed, name);
    _exit(write(STDERR_FILENO, text, (size_t)n) == n ? 1 : 2);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    const struct itimerval most = {.it_value.tv_sec = 20}; /* of processor time, for an input */
    unsigned long runs = 1000, seconds = 0;
    double begin = now();
    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "-runs=%lu", &runs) != 1 &&
            sscanf(argv[i], "-max_total_time=%lu", &seconds) != 1 &&
            sscanf(argv[i], "-seed=%lu", &seed) != 1)
            add(argv[i]);
    if (!n_files)
        files[n_files++] = (struct input){(uint8_t *)"a", 1};
    signal(SIGSEGV, notify);
    signal(SIGABRT, notify);
    signal(SIGPROF, notify); /* an input that takes ever so long */
    for (size_t i = 0; i < n_files; i++) {
        setitimer(ITIMER_PROF, &most, NULL);
        run(files[i].bytes, files[i].size);
    }
    state = seed * 0x9e3779b97f4a7c15u | 1;
    for (number = 0; number < runs && !(seconds && now() - begin > (double)seconds); number++) {
        setitimer(ITIMER_PROF, &most, NULL);
        run(made, make());
    }
    printf("%zu files, %lu inputs made of them, seed %llu, %.0f a second\n", n_files, number,
           (unsigned long long)seed, (double)(number + n_files) / (now() - begin));
    return 0;
}
