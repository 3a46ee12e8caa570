/**
 * The least UUID (RFC 9562, section 5.9): `id > NIL_UUID` begins a list in order of ids. With `:after IS NULL OR id > :after`
 * a plan that is kept for all parameters cannot use the index.
 */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/** The greatest UUID (RFC 9562, section 5.10). */
export const MAX_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
