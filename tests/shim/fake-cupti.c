/* SPDX-License-Identifier: Apache-2.0 */
/* A CUPTI that has no subscription to give: RESULT says why. */
#include <stdint.h>

int cuptiSubscribe(void **subscriber, void *callback, void *data);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t number);
int cuptiGetDeviceId(void *context, uint32_t *device);
int cuptiGetResultString(int result, const char **text);

int cuptiSubscribe(void **subscriber, void *callback, void *data)
{
    (void)subscriber;
    (void)callback;
    (void)data;
    return RESULT;
}

int cuptiUnsubscribe(void *subscriber)
{
    return subscriber != 0;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t number)
{
    (void)on;
    (void)subscriber;
    (void)domain;
    (void)number;
    return RESULT;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
    (void)context;
    *device = 0;
    return 0;
}

int cuptiGetResultString(int result, const char **text)
{
    (void)result;
    *text = "CUPTI_ERROR_NOT_COMPATIBLE";
    return 0;
}
