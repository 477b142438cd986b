/* SPDX-License-Identifier: Apache-2.0 */
/* Two libraries of one size (A and B) whose code at the same place has other frames. */
void plugin_call(void (*callback)(void));

#ifdef PLUGIN_A
#define SIZE 0x140
#else
#define SIZE 0x340
#endif

__attribute__((noinline)) static void call(void (*callback)(void))
{
    volatile char bytes[SIZE];
    bytes[0] = 1;
    callback();
    bytes[SIZE - 1] = bytes[0];
}

void plugin_call(void (*callback)(void))
{
    volatile char bytes[SIZE];
    bytes[0] = 1;
    call(callback);
    bytes[SIZE - 1] = bytes[0];
}
