import { Failure } from '../failure.mjs';
import { askService } from '../fleet/ask-service.mjs';
import { say } from '../fleet/reporter.mjs';
import { readOptions } from './options.mjs';

/** `fleet rotate-signing-key`: has access tokens signed with a new key; nobody is logged out. */
export default async function rotateSigningKey(args) {
  readOptions(args, {});
  const { value, error } = await askService('rmm.operations.identity.rotate-signing-key', {}, 10_000);
  if (error) throw new Failure(`The signing key was not rotated: ${error.error ?? error.code}`);
  say(
    `key ${value.kid} is published and signs from ${value.signsFrom}; ${value.replaces} stays listed for a day after`,
  );
}
