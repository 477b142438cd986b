/* SPDX-License-Identifier: Apache-2.0 */
/* fork-loading [first]: forks while a thread loads and unloads a library, and ends with 0 where
 * five children that have a broken loader could allocate by a module that the parent never has
 * (first: it has by itself). */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define WANTED 5
#define MOST_FORKS 10000

unsigned cudaMalloc(void **address, size_t size);

static void *load_and_unload(void *unused)
{
    for (;;) {
        void *library = dlopen("native-plugin-a.so", RTLD_NOW);
        if (library)
            dlclose(library);
    }
    return unused;
}

enum { NOT_NOW, RIGHT, WRONG };

static int in_child(unsigned (*allocate)(void **address))
{
    void *address = NULL;
    alarm(300);
    if (_r_debug.r_state == RT_CONSISTENT)
        return NOT_NOW;
    return !allocate(&address) && (uintptr_t)address >> 44 == 6 ? RIGHT : WRONG;
}

int main(int argc, char **argv)
{
    void *address;
    pthread_t thread;
    int found = 0;
    void *module = dlopen("libuser-of-12.so", RTLD_NOW | RTLD_LOCAL);
    if (!module || (argc > 1 && cudaMalloc(&address, 512)) || !argv[0])
        return 2;
    unsigned (*allocate)(void **) = (unsigned (*)(void **))dlsym(module, "allocate");
    if (pthread_create(&thread, NULL, load_and_unload, NULL))
        return 3;
    for (int i = 0; i < MOST_FORKS && found < WANTED; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(in_child(allocate));
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status) == WRONG)
            return 1;
        found += WEXITSTATUS(status) == RIGHT;
    }
    return found == WANTED ? 0 : 4;
}
