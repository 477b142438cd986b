/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include <asm/sigcontext.h>
#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#define RED_ZONE 128u
#define LEAST_STACK ((uint64_t)192 << 10)
#define MOST_MAIN_STACK ((uint64_t)4 << 20) /* used, of the 8 MiB that are the default */

/* Flags of the saved vector registers, and of the stack segment. */
enum { HAS_VECTOR = 1, HAS_SEGMENT = 2, STRICT_SEGMENT = 4 };
#define TILES (UINT64_C(1) << 18) /* AMX data, which few threads may have in a frame */
#define CPUID_STATE 0xd
#define NOT_A_STACK 3 /* flags that the kernel refuses: the thread's signal stack stays */
#define FLAG_DIRECTION 0x400u
#define FLAG_TRAP 0x100u
#define FLAG_ALIGNMENT 0x40000u

/* As the kernel has it, up to where it reads. */
struct frame {
    uint64_t restorer;
    uint64_t flags, link, stack, stack_flags, stack_size;
    struct sigcontext context;
    uint64_t mask;
};

/* The places of the saved vector registers. */
enum { SOFTWARE_AT = 464, FEATURES_AT = 464, BITMAP_AT = 512, LEGACY_SIZE = 576 };

int mt_state_set_size(struct mt_foreign_state *state, size_t size)
{
    uint64_t features, used;
    unsigned end = LEGACY_SIZE, length, at, c, d;
    memcpy(&features, state->vector + FEATURES_AT, sizeof features);
    memcpy(&used, state->vector + BITMAP_AT, sizeof used);
    if (size < LEGACY_SIZE || used & TILES)
        return -ENOTSUP;
    for (unsigned i = 2; i < 63; i++)
        if ((features & ~TILES) >> i & 1) {
            __cpuid_count(CPUID_STATE, i, length, at, c, d);
            end = at + length > end ? at + length : end;
        }
    state->size = end;
    return end <= size && end + FP_XSTATE_MAGIC2_SIZE <= sizeof state->vector ? 0 : -ENOTSUP;
}

bool mt_frame_has_room(pid_t pid, uint64_t stack_pointer)
{
    char path[64], line[512];
    bool has_room = false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long long start, end;
        char rights[5] = "";
        if (sscanf(line, "%llx-%llx %4s", &start, &end, rights) != 3 || stack_pointer < start ||
            stack_pointer >= end)
            continue;
        bool is_main = strstr(line, "[stack]");
        has_room = rights[0] == 'r' && rights[1] == 'w' &&
                   (is_main ? end - stack_pointer < MOST_MAIN_STACK
                            : stack_pointer - start >= LEAST_STACK);
        break;
    }
    if (file)
        fclose(file);
    return has_room;
}

static int write_there(pid_t pid, uint64_t address, const void *from, size_t size)
{
    struct iovec here = {(void *)(uintptr_t)from, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

/* Write the vector registers as a frame has them. Return their address; 0: failed. */
static uint64_t write_vector(pid_t pid, const struct mt_foreign_state *state, uint64_t below)
{
    static unsigned char copy[MT_VECTOR_SIZE];
    uint64_t features, at = (below - state->size - FP_XSTATE_MAGIC2_SIZE) & ~UINT64_C(63);
    uint32_t magic = FP_XSTATE_MAGIC2;
    memcpy(&features, state->vector + FEATURES_AT, sizeof features);
    memcpy(copy, state->vector, state->size);
    const struct _fpx_sw_bytes software = {.magic1 = FP_XSTATE_MAGIC1,
                                           .extended_size =
                                               (uint32_t)(state->size + FP_XSTATE_MAGIC2_SIZE),
                                           .xfeatures = features & ~TILES,
                                           .xstate_size = (uint32_t)state->size};
    memcpy(copy + SOFTWARE_AT, &software, sizeof software);
    memcpy(copy + state->size, &magic, sizeof magic);
    return write_there(pid, at, copy, state->size + sizeof magic) ? 0 : at;
}

/* Write a frame that returns to these registers. Return its address, at which a function is to
 * begin; 0: failed. */
static uint64_t write_frame(const struct mt_target *target, const struct user_regs_struct *r,
                            uint64_t mask, uint64_t vector, uint64_t below)
{
    uint64_t at = ((below - sizeof(struct frame)) & ~UINT64_C(15)) - 8;
    const struct frame frame = {.restorer = target->restorer,
                                .flags = HAS_SEGMENT | STRICT_SEGMENT | (vector ? HAS_VECTOR : 0),
                                .stack_flags = NOT_A_STACK,
                                .context = {.r8 = r->r8,
                                            .r9 = r->r9,
                                            .r10 = r->r10,
                                            .r11 = r->r11,
                                            .r12 = r->r12,
                                            .r13 = r->r13,
                                            .r14 = r->r14,
                                            .r15 = r->r15,
                                            .rdi = r->rdi,
                                            .rsi = r->rsi,
                                            .rbp = r->rbp,
                                            .rbx = r->rbx,
                                            .rdx = r->rdx,
                                            .rax = r->rax,
                                            .rcx = r->rcx,
                                            .rsp = r->rsp,
                                            .rip = r->rip,
                                            .eflags = r->eflags,
                                            .cs = (uint16_t)r->cs,
                                            .ss = (uint16_t)r->ss,
                                            .fpstate = (void *)(uintptr_t)vector},
                                .mask = mask};
    return write_there(target->pid, at, &frame, sizeof frame) ? 0 : at;
}

static void begin_at(struct user_regs_struct *r, uint64_t function, uint64_t stack)
{
    r->rip = function;
    r->rsp = stack;
    r->rax = 0;
    r->orig_rax = -1ull;
    r->eflags &= ~(unsigned long long)(FLAG_DIRECTION | FLAG_TRAP | FLAG_ALIGNMENT);
}

int mt_frame_write(const struct mt_target *target, const struct mt_foreign_state *state,
                   const struct mt_foreign_call *call, struct user_regs_struct *entry)
{
    size_t length = call->text ? strlen(call->text) + 1 : 0;
    uint64_t text = (state->registers.rsp - RED_ZONE - length) & ~UINT64_C(63);
    uint64_t kept = text - 64, number = state->registers.fs_base + (uint64_t)target->errno_at;
    unsigned char bytes[4], swapped[4];
    if (length && write_there(target->pid, text, call->text, length))
        return -EFAULT;
    uint64_t vector = write_vector(target->pid, state, kept);
    uint64_t frame =
        vector ? write_frame(target, &state->registers, state->mask, vector, vector) : 0;
    if (!frame)
        return -EFAULT;
    *entry = state->registers;
    if (target->errno_at) { /* set errno back: swab copies it */
        if (mt_target_read(target->pid, number, bytes, sizeof bytes))
            return -EFAULT;
        for (unsigned i = 0; i < sizeof bytes; i++)
            swapped[i] = bytes[i ^ 1];
        if (write_there(target->pid, kept, swapped, sizeof swapped))
            return -EFAULT;
        begin_at(entry, target->swab, frame);
        entry->rdi = kept;
        entry->rsi = number;
        entry->rdx = sizeof bytes;
        frame = write_frame(target, entry, ~UINT64_C(0), 0, frame - RED_ZONE);
        if (!frame)
            return -EFAULT;
    }
    begin_at(entry, call->function, frame);
    entry->rdi = text;
    entry->rsi = call->number;
    return 0;
}
