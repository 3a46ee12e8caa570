import { ConflictError } from '@rmm/service-kit';

/** 409: the device is pending, or its token ended before the next one was used. It must be enrolled. */
export class AgentTokenNotActive extends ConflictError {
  override code = 'agent_token_not_active';
  override error = 'The device has no valid agent token';
}
