import type { PsaProvider } from '../psa-providers.constants.js';
import { autotask } from './autotask.adapter.js';
import { connectwise } from './connectwise.adapter.js';
import { freshservice } from './freshservice.adapter.js';
import { halopsa } from './halopsa.adapter.js';
import { jira } from './jira.adapter.js';
import type { PsaAdapter } from './psa.adapter.js';
import { servicenow } from './servicenow.adapter.js';
import { syncro } from './syncro.adapter.js';
import { zendesk } from './zendesk.adapter.js';

export const PSA_ADAPTERS: Readonly<Record<PsaProvider, PsaAdapter>> = {
  connectwise,
  autotask,
  servicenow,
  freshservice,
  zendesk,
  halopsa,
  syncro,
  jira,
};
