/* SPDX-License-Identifier: Apache-2.0 */
#include "read-objects.h"
#include "module-members.h"
#include "optimizer-state.h"

void mt_read_objects_slow(struct mt_thread *self)
{
    self->pending.has_to_read = false;
    if (self->pending.called.object)
        mt_module_members_scan(self, self->pending.called.object, self->pending.called.is_new,
                               self->pending.called.is_moved);
    self->pending.called.object = 0;
    if (self->steps.n_ended)
        mt_optimizers_record(self);
    if (self->pending.n_gradients)
        mt_gradients_scan(self);
}
