/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the runtime and the driver share, under two names: the sources of this folder are
 * compiled into both libraries. Handles have the same types in both, and error codes the same
 * numbers.
 *
 *   API(name)      cudaName or cuName
 *   api_result     cudaError_t or CUresult
 *   api_error(e)   what the core returned (a negative errno) as the result
 *   api_code(n)    a code as the result
 */
#ifndef SIM_API_H
#define SIM_API_H

#ifdef SIM_DRIVER

#include "driver/driver.h"

#define API(name) cu##name
typedef CUresult api_result;
typedef CUmemPoolProps api_pool_properties;
typedef CUmemPool_attribute api_pool_attribute;
typedef CUmemAccessDesc api_access;
typedef CUmemAccess_flags api_access_flags;
typedef CUmemLocation api_location;
typedef CUmemAllocationType api_allocation_type;
typedef CUgraphMem_attribute api_graph_memory_attribute;
typedef CUgraphEdgeData api_edge;
typedef CUgraphNodeType api_node_type;
typedef CUDA_HOST_NODE_PARAMS api_host_call;
typedef CUDA_MEMSET_NODE_PARAMS api_fill;
typedef CUDA_MEM_ALLOC_NODE_PARAMS api_allocation;
typedef CUdeviceptr api_pointer;
typedef CUgraphExecUpdateResultInfo api_update_result;
typedef CUDA_GRAPH_INSTANTIATE_PARAMS api_instantiation;
typedef CUstreamCaptureMode api_capture_mode;
typedef CUstreamCaptureStatus api_capture_status;
typedef CUhostFn api_host_function;
typedef CUmemoryPool api_pool;
typedef CUstream api_stream;
typedef CUevent api_event;
typedef CUgraph api_graph;
typedef CUgraphNode api_node;
typedef CUgraphExec api_executable;
typedef CUuserObject api_user_object;
typedef cuuint64_t api_flags;
typedef cuuint64_t api_capture_id;
#define api_error(error) driver_result(error)
#define api_code(code) ((CUresult)(code))
#define api_enter() driver_enter()

#else

#include "runtime/runtime.h"

#define API(name) cuda##name
typedef cudaError_t api_result;
typedef struct cudaMemPoolProps api_pool_properties;
typedef enum cudaMemPoolAttr api_pool_attribute;
typedef struct cudaMemAccessDesc api_access;
typedef enum cudaMemAccessFlags api_access_flags;
typedef struct cudaMemLocation api_location;
typedef enum cudaMemAllocationType api_allocation_type;
typedef enum cudaGraphMemAttributeType api_graph_memory_attribute;
typedef cudaGraphEdgeData api_edge;
typedef enum cudaGraphNodeType api_node_type;
typedef struct cudaHostNodeParams api_host_call;
typedef struct cudaMemsetParams api_fill;
typedef struct cudaMemAllocNodeParams api_allocation;
typedef void *api_pointer;
typedef cudaGraphExecUpdateResultInfo api_update_result;
typedef cudaGraphInstantiateParams api_instantiation;
typedef enum cudaStreamCaptureMode api_capture_mode;
typedef enum cudaStreamCaptureStatus api_capture_status;
typedef cudaHostFn_t api_host_function;
typedef cudaMemPool_t api_pool;
typedef cudaStream_t api_stream;
typedef cudaEvent_t api_event;
typedef cudaGraph_t api_graph;
typedef cudaGraphNode_t api_node;
typedef cudaGraphExec_t api_executable;
typedef cudaUserObject_t api_user_object;
typedef unsigned long long api_flags;
typedef unsigned long long api_capture_id;
#define api_error(error) runtime_error(error)
#define api_code(code) runtime_result((cudaError_t)(code))
#define api_enter() runtime_error(sim_enter())

#endif

/* Codes that both have under other names. */
enum {
    API_SUCCESS = 0,
    API_INVALID_VALUE = 1,
    API_OUT_OF_MEMORY = 2,
    API_NO_DEVICE = 100,
    API_INVALID_DEVICE = 101,
    API_INVALID_CONTEXT = 201,
    API_MAP_FAILED = 205,
    API_FILE_NOT_FOUND = 301,
    API_INVALID_HANDLE = 400,
    API_ILLEGAL_STATE = 401,
    API_ALREADY_REGISTERED = 712,
    API_NOT_SUPPORTED = 801,
    API_CAPTURE_UNSUPPORTED = 900,
    API_CAPTURE_INVALIDATED = 901,
    API_CAPTURE_UNMATCHED = 903,
    API_CAPTURE_UNJOINED = 904,
    API_CAPTURE_WRONG_THREAD = 908,
    API_UPDATE_FAILED = 910,
};

#endif
