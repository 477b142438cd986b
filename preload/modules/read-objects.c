/* SPDX-License-Identifier: Apache-2.0 */
#include "read-objects.h"
#include "module-members.h"
#include "optimizer-state.h"

void mt_read_objects_slow(struct mt_thread *self)
{
    self->has_to_read = false;
    if (self->called.object)
        mt_module_members_scan(self, self->called.object, self->called.is_new,
                               self->called.is_moved);
    self->called.object = 0;
    if (self->n_ended)
        mt_optimizers_record(self);
    if (self->n_gradients)
        mt_gradients_scan(self);
}
