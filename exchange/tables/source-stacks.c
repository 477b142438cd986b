/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <errno.h>
#include <stdlib.h>

struct stack_rows {
    struct mt_rows rows;
    struct mt_definitions *definitions;
    struct mt_trace_error fault;
    uint32_t next;
};

static void put_stack(const struct stack_rows *self, struct mt_columns *columns, uint32_t id)
{
    const struct mt_stack *stack = mt_stack(self->definitions, id);
    mt_rows_put_rank(&self->rows, columns, MT_STACKS_RANK);
    mt_columns_put(columns, MT_STACKS_STACK, id);
    mt_columns_put_some(columns, MT_STACKS_PARENT, stack->parent);
    mt_columns_put(columns, MT_STACKS_DEPTH, stack->depth);
    mt_rows_put_frame(columns, MT_STACKS_FUNCTION, self->definitions, stack->frame);
    mt_columns_text(columns, MT_STACKS_MODULE, mt_stack_module(self->definitions, id));
}

static int fill(struct mt_rows *rows, struct mt_columns *columns, struct mt_trace_error *error)
{
    struct stack_rows *self = (struct stack_rows *)rows;
    uint32_t limit = mt_definitions_stack_limit(self->definitions);
    for (; self->next < limit && !mt_columns_are_full(columns); self->next++) {
        if (!mt_stack(self->definitions, self->next)->depth)
            continue; /* was never defined */
        if (!mt_columns_row(columns))
            return -ENOMEM;
        put_stack(self, columns, self->next);
    }
    if (columns->lacks_memory)
        return -ENOMEM;
    *error = self->fault;
    return self->next < limit ? 1 : self->fault.fault ? -EBADMSG : 0;
}

static void close_stacks(struct mt_rows *rows)
{
    struct stack_rows *self = (struct stack_rows *)rows;
    mt_definitions_destroy(self->definitions);
    free(self);
}

int mt_rows_stacks(struct mt_rows **out, const char *path, struct mt_trace_error *error)
{
    struct mt_survey survey;
    struct stack_rows *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->rows = (struct mt_rows){.fill = fill, .close = close_stacks};
    self->next = 1;
    self->definitions = mt_definitions_create();
    int rc = self->definitions ? mt_survey(path, &survey, self->definitions, error) : -ENOMEM;
    if (!rc)
        rc = mt_definitions_finish(self->definitions);
    if (rc) {
        close_stacks(&self->rows);
        return rc;
    }
    self->fault = *error;
    mt_rows_take_rank(&self->rows, self->definitions);
    *out = &self->rows;
    return 0;
}
