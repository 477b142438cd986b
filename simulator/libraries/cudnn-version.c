/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN 9's version, from the wheel next to the program's PyTorch, which compares it with its
 * own. */
#include "cudnn-installed.h"
#include "cudnn.h"

enum { STANDIN_VERSION = 92600 };

size_t cudnnGetVersion(void)
{
    size_t version = cudnn_installed_version();
    return version ? version : STANDIN_VERSION;
}
