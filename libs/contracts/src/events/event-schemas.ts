import { z } from 'zod';
import { API_KEY_FIELDS } from './api-key.events.js';
import type { EventMap } from './event-map.js';
import type { EventType } from './event.types.js';

const id = (what: string) => z.string().describe(`Id of the ${what}`);
const time = (when: string) => z.iso.datetime().describe(when);
const deviceId = z.uuid().describe('Id of the device');
const hostname = z.string().describe('Host name of the device');
const agentVersion = z.string().nullable().describe('Version of the agent; null when it did not report one');
const displayName = z.string().nullable().describe('Name that users gave the device');
const siteId = z.uuid().nullable().describe('Site of the device');
const text = (what: string) => z.string().describe(what);
const integer = (what: string) => z.int().describe(what);

const organization = z.object({
  organizationId: z.uuid().describe('Id of the organization'),
  name: text('Name of the organization'),
  slug: text('Short name of the organization'),
  status: z
    .enum(['active', 'trial', 'suspended', 'churned', 'offboarding'])
    .describe('State of the organization; a deleted one keeps the state before'),
});
const site = z.object({ siteId: z.uuid().describe('Id of the site'), name: text('Name of the site') });
const apiKey = z.object({
  apiKeyId: z.uuid().describe('Id of the API key'),
  name: text('Name of the API key'),
  keyPrefix: text('The first 12 characters of the key'),
  scopes: z.array(z.string()).describe('What the API key may be used for'),
  expiresAt: z.iso.datetime().nullable().describe('When the key expires; null: never'),
  principalId: z.uuid().nullable().describe('The service principal that owns the key; null: none'),
  createdBy: z.uuid().nullable().describe('User who created the API key'),
});

/** The data of the events that services of this repository publish. */
const PUBLISHED = {
  'device.enrolled': z.object({
    deviceId,
    hostname,
    osType: z.enum(['windows', 'macos', 'linux']).describe('Operating system of the device'),
    siteId,
    enrollmentKeyId: z.uuid().nullable().describe('Enrollment key of the device; null when it was provisioned'),
    agentVersion,
  }),
  'device.online': z.object({
    deviceId,
    hostname,
    agentVersion,
    status: z.literal('online').describe('The new state of the device'),
  }),
  'device.offline': z.object({
    deviceId,
    hostname,
    displayName,
    lastSeenAt: z.iso.datetime().nullable().describe('When the agent last reported; null: never'),
  }),
  'device.updated': z.object({
    deviceId,
    hostname,
    fields: z
      .array(z.enum(['agentVersion', 'customFields', 'displayName', 'siteId', 'tags', 'status']))
      .describe('Names of the changed fields; the new value of each is next to it'),
    agentVersion: agentVersion.optional(),
    customFields: z.array(z.string()).describe('Keys of the changed custom fields').optional(),
    displayName: displayName.optional(),
    siteId: siteId.optional(),
    tags: z.array(z.string()).describe('Tags of the device').optional(),
    status: text('State of the device').optional(),
  }),
  'device.decommissioned': z.object({
    deviceId,
    hostname,
    decommissionedBy: z.uuid().nullable().describe('User who decommissioned the device'),
  }),
  'user.login': z.object({
    userId: z.uuid().describe('Id of the user'),
    email: text('E-mail address of the user'),
    mfa: z.boolean().describe('Whether the user verified a second factor'),
    method: z.enum(['password', 'passkey', 'sso', 'invite']).describe('How the user signed in'),
  }),
  'user.logout': z.object({
    userId: z.uuid().describe('Id of the user'),
    email: text('E-mail address of the user'),
  }),
  'user.invited': z.object({
    userId: z.uuid().describe('Id of the user, which names the invitation as well'),
    email: text('E-mail address of the invited user'),
    name: text('Name of the invited user'),
    roleId: z.uuid().describe('Role that the user gets'),
    invitedBy: z.uuid().nullable().describe('User who invited'),
  }),
  'organization.created': organization,
  'organization.updated': organization,
  'organization.deleted': organization,
  'site.created': site,
  'site.updated': site,
  'site.deleted': site,
  'api_key.created': apiKey,
  'api_key.updated': apiKey.extend({
    fields: z.array(z.enum(API_KEY_FIELDS)).describe('Names of the changed fields, not all of which the event has'),
  }),
  'api_key.rotated': apiKey,
  'api_key.revoked': apiKey,
} satisfies { [Type in keyof EventMap]: z.ZodType<EventMap[Type]> };

const alert = { alertId: id('alert'), ruleId: id('rule'), deviceId: id('device') };
const severity = text('Severity of the alert');
const execution = { scriptId: id('script'), executionId: id('execution'), deviceId: id('device') };
const ended = {
  ...execution,
  exitCode: integer('Exit code of the script'),
  durationMs: integer('Duration in milliseconds'),
  errorMessage: text('Why the script failed'),
};
const automation = {
  automationId: id('automation'),
  runId: id('run'),
  triggeredBy: text('What started the automation'),
  devicesTargeted: integer('Devices that the automation is for'),
};
const automationEnded = {
  ...automation,
  status: text('How the automation ended'),
  devicesSucceeded: integer('Devices on which it succeeded'),
  devicesFailed: integer('Devices on which it failed'),
};
const policy = {
  policyId: id('policy'),
  policyName: text('Name of the policy'),
  deviceId: id('device'),
  hostname,
  status: text('Result of the evaluation'),
  previousStatus: text('Result of the evaluation before'),
  enforcement: text('How the policy is enforced'),
  remediationRunId: z.string().nullable().describe('Id of the remediation; null without one'),
  evaluatedAt: time('When the policy was evaluated'),
};
const patch = {
  patchId: id('patch'),
  title: text('Title of the patch'),
  severity: text('Severity of the patch'),
  deviceId: z.string().nullable().describe('Id of the device; null: not of one device'),
};
const remote = {
  sessionId: id('session'),
  deviceId: id('device'),
  userId: id('user'),
  type: text('Kind of the session'),
};
const session = {
  deviceId: id('device'),
  hostname,
  username: text('Name of the account on the device'),
  sessionType: text('Kind of the session'),
  sessionId: id('session on the device'),
  activityState: text('Whether the session is active'),
  timestamp: time('When it happened'),
};

/** The data of the events that other systems publish; a field may be absent. */
const FOREIGN = {
  'alert.triggered': {
    ...alert,
    severity,
    title: text('Title of the alert'),
    message: text('Text of the alert'),
    source: text('What raised the alert'),
  },
  'alert.acknowledged': { ...alert, acknowledgedBy: id('user who acknowledged it') },
  'alert.resolved': { ...alert, resolvedBy: id('user who resolved it'), resolutionNote: text('Note of that user') },
  'alert.escalated': {
    ...alert,
    severity,
    previousSeverity: text('Severity before'),
    escalatedTo: text('Who was notified'),
  },
  'script.started': execution,
  'script.completed': ended,
  'script.failed': ended,
  'automation.started': automation,
  'automation.completed': automationEnded,
  'automation.failed': automationEnded,
  'policy.evaluated': policy,
  'policy.violation': policy,
  'policy.compliant': policy,
  'patch.available': patch,
  'patch.approved': { ...patch, approvedBy: id('user who approved it') },
  'patch.installed': { ...patch, installedAt: time('When the patch was installed') },
  'patch.failed': { ...patch, errorMessage: text('Why the patch could not be installed') },
  'patch.rollback': { ...patch, reason: text('Why the patch was rolled back') },
  'security.score_changed': {
    deviceId: id('device'),
    previousScore: z.number().describe('Score before'),
    currentScore: z.number().describe('New score'),
    delta: z.number().describe('Difference of the scores'),
    previousRiskLevel: text('Risk level before'),
    currentRiskLevel: text('New risk level'),
    changedFactors: z.array(z.unknown()).describe('What changed the score'),
    capturedAt: time('When the score was computed'),
  },
  'remote.session.started': { ...remote, startedAt: time('When the session began') },
  'remote.session.ended': {
    ...remote,
    endedAt: time('When the session ended'),
    durationSeconds: integer('Duration in seconds'),
    reason: text('Why the session ended'),
  },
  'session.login': session,
  'session.logout': session,
} satisfies Record<Exclude<EventType, keyof EventMap>, z.ZodRawShape>;

const isPublished = (type: EventType): type is keyof typeof PUBLISHED => Object.hasOwn(PUBLISHED, type);

/** Returns the schema of the data of an event. Further fields are allowed: receivers ignore those they do not know. */
export function eventDataSchema(type: EventType): z.ZodType {
  return isPublished(type) ? PUBLISHED[type] : z.object(FOREIGN[type]).partial();
}

/** Returns the schema as JSON Schema (draft 7, which AsyncAPI and most validators of receivers read). */
export function eventDataJsonSchema(type: EventType): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(eventDataSchema(type), { target: 'draft-7', io: 'input' });
  return schema;
}
