/* SPDX-License-Identifier: Apache-2.0 */
/* Marks functions that the page calls. Returned texts and arrays belong to this side and live until
 * the next call; returned objects belong to the page. */
#ifndef MT_PAGE_EXPORT_H
#define MT_PAGE_EXPORT_H

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(name), visibility("default")))
#else /* for tests */
#define EXPORT(name)
#endif

#endif
