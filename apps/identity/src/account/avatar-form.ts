import type { BodyRule, TimeoutRule } from '@rmm/service-kit';

const PATH = '/users/me/avatar';

export const MAX_AVATAR_BYTES = 5 * 1024 * 1024;

/** The file and up to 64 KB of form around it. @see docs/reference/requests.md */
export const AVATAR_BODY: BodyRule = {
  path: PATH,
  limitBytes: MAX_AVATAR_BYTES + 64 * 1024,
  contentTypes: ['multipart/form-data'],
  read: 'stream',
};

/** Longer than the default, because the route reads the upload itself. */
export const AVATAR_TIMEOUT: TimeoutRule = { path: PATH, timeoutMs: 60_000 };
