/* SPDX-License-Identifier: Apache-2.0 */
/* fake-python VERSION [read-only]: a program that looks like that version of Python to memtap, as
 * far as names go, and has a block of 512 bytes allocated on a device. Its frames are nonsense; its
 * types can be written to or not. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

void report(void *block, int64_t size, size_t allocated, size_t reserved,
            uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

const char *Py_GetVersion(void);
void *PyGILState_GetThisThreadState(void);
int Py_IsFinalizing(void);

#define PAGE 4096
enum { TYPE_DEALLOC = 48 / sizeof(void *) };

_Alignas(PAGE) void *PyCode_Type[PAGE / sizeof(void *)];
char PyUnicode_Type[512];
static const char *version;
static uint64_t state[64];

const char *Py_GetVersion(void)
{
    return version;
}

void *PyGILState_GetThisThreadState(void)
{
    return state;
}

int Py_IsFinalizing(void)
{
    return 0;
}

static void free_code(void *code)
{
    (void)code;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    PyCode_Type[TYPE_DEALLOC] = (void *)free_code;
    if (argc > 2 && mprotect(PyCode_Type, PAGE, PROT_READ))
        return 2;
    version = argv[1];
    for (size_t i = 0; i < sizeof state / sizeof *state; i++)
        state[i] = 0x10; /* no address */
    report(argv, 512, 512, 2097152, 1);
    return 0;
}
