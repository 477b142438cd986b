/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE: products and sums of sparse matrices are empty; their real size is unknown. The rest is
 * in the list. */
#include <stdint.h>

#include "api/launch.h"
#include "core/values/values.h"

enum { SUCCESS = 0 };

/* Return an empty product, and note that its size is unknown. */
int cusparseSpMatGetSize(const void *matrix, int64_t *rows, int64_t *columns, int64_t *elements)
{
    (void)matrix;
    *rows = *columns = *elements = 0;
    sim_unknown_value(SIM_UNKNOWN_SIZE, "cusparseSpMatGetSize");
    return SUCCESS;
}

int cusparseXcsrgeam2Nnz(void *handle, int rows, int columns, const void *a, int a_elements,
                         const int *a_rows, const int *a_columns, const void *b, int b_elements,
                         const int *b_rows, const int *b_columns, const void *c, int *c_rows,
                         int *elements, void *workspace)
{
    (void)handle, (void)rows, (void)columns, (void)a, (void)a_rows, (void)a_columns;
    (void)b, (void)b_rows, (void)b_columns, (void)c, (void)c_rows, (void)workspace;
    *elements = 0;
    LIBRARY_WORKS("cusparseXcsrgeam2Nnz");
    if (a_elements || b_elements)
        sim_unknown_value(SIM_UNKNOWN_SIZE, "cusparseXcsrgeam2Nnz");
    return SUCCESS;
}
