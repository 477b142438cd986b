/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. */
#include "export.h"

const struct mt_export_format mt_export_formats[] = {
#define MT_EXPORT_ROW(name, is_binary, accepts, writer) {#name, is_binary, accepts, writer},
    MT_EXPORT_FORMATS(MT_EXPORT_ROW)
#undef MT_EXPORT_ROW
        {0}};
