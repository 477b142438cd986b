/* SPDX-License-Identifier: Apache-2.0 */
/* named-phases HOW: allocates in phases that it names by memtap.h ("header") or by NVTX ("nvtx").
 */
#include "preload/include/memtap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static void with_header(void *address)
{
    memtap_range_push("outer");
    memtap_range_push("inner");
    memtap_name((char *)address + 1, "field");
    memtap_mark("now");
    memtap_range_pop();
    memtap_range_pop();
}

#ifdef HAVE_NVTX
static bool with_nvtx(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxEventAttributes_t attributes = {0};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = registered;
    int outer = nvtxRangePushA("outer"), inner = nvtxRangePushW(L"inn\u00e9r");
    nvtxRangeId_t one = nvtxDomainRangeStartEx(domain, &attributes), two = nvtxRangeStartA("two");
    nvtxRangeEnd(one);
    nvtxDomainRangeEnd(domain, two);
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    nvtxMarkA("aten::mm, seq = 17, op_id = 3");
    int last = nvtxRangePop();
    return outer == 0 && inner == 1 && last == 1 && nvtxRangePop() == 0;
}

#else
static int with_nvtx(void)
{
    return -1;
}
#endif

int main(int argc, char **argv)
{
    void *address;
    if (cudaMalloc(&address, 1000))
        return 1;
    if (argc > 1 && !strcmp(argv[1], "nvtx"))
        printf("nested as NVTX has it: %d\n", with_nvtx());
    else
        with_header(address);
    return cudaFree(address) ? 1 : 0;
}
