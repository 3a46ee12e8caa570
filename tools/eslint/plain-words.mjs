/**
 * Words that this project replaces by the standard term, for the lint rules and for cspell alike. A word is written with
 * all its forms, split by blanks; the value is the term to use.
 */

/** Never: not in identifiers, comments, messages, test titles or documents. */
export const EVERYWHERE = {
  'door doors doorway': 'authenticator, route access policy, executor or API',
  'hear hears heard hearing': 'receive, subscribe',
  'heart hearts': 'heartbeat publisher',
  'beat beats beating beaten': 'publish a heartbeat',
  'tell tells told telling': 'publish, notify, inform',
  'fact facts': 'integration event',
  'stray strays': 'orphaned lease',
  'park parks parked parking parkings': 'dead-letter, backlog, blocked or pending',
  'verdict verdicts': 'result, decision',
  'judge judges judged judging': 'evaluate, check',
  'complaint complaints complain complains complained': 'validation error',
  'axis axes': 'scope',
  'confine confines confined confinement': 'restrict',
  'person persons people peoples': 'user',
  'inviter inviters': 'InvitationsService',
  'walk walks walked walking': 'quick start, pagination, check',
  'visit visits visited visiting': 'API example, call',
  'world worlds': 'test app',
  'wish wishes wished wishing': 'requested',
  'keeper keepers': 'process manager',
  'revival revive revives revived': 'restart',
  'leftover leftovers': 'orphans',
  'farewell farewells': 'shutdown message',
  'shelter shelters': 'fallback directory',
  upkeep: 'maintenance, cleanup',
  'lapsed lapse lapses': 'expired',
  'cleanse cleanses cleansed cleansing': 'redact',
  genuine: 'valid',
  'storm storms': 'burst',
  'stand stands stood': 'is, is stored',
  'somebody nobody everybody anybody whoever whomever': 'a user, no caller, anyone who',
  anew: 'again',
  beside: 'next to, in addition to',
  'lend lends lent lending': 'export, pass',
  'hasten hastens hastened': 'bring forward',
};

/** Not as a part of an identifier (`keyDoor`, `door_open`); plain English elsewhere. */
export const IN_IDENTIFIERS = {
  'answer answers answered answering': 'response, reply, result',
  'make makes made maker makers making': 'create',
  'reach reaches reached reachable': 'access',
  'narrow narrowing narrowings': 'constraints',
  'demand demands demanded': 'required permissions',
  'admit admits admitted': 'accept',
  'hold holds held holding holder holders': 'lease, lock, permission',
  'lane lanes': 'priority class',
  'turn turns': 'round-robin position',
  'place places placed': 'state',
  fifo: 'queue',
};

/** Whole names that hide the act; as the name of a method they want a verb and its object. */
export const METHOD_NAMES = [
  'of',
  'again',
  'gone',
  'look',
  'late',
  'due',
  'lost',
  'stands',
  'hasten',
  'shorten',
  'take',
  'leave',
  'lead',
  'enter',
  'admit',
  'hold',
  'tell',
  'hear',
];

/** Names of the past, each with its successor. */
export const NAMES = {
  giveBack: 'releaseDeliveries',
  keepTrying: 'retryForever',
  restAfter: 'yieldAfter',
  Cap: 'ConcurrencyLimit',
  keptText: 'truncateText',
  PartnerMaker: 'PartnersService',
  SessionOpener: 'SessionsService',
  SessionStarter: 'SessionsService',
  SessionEnder: 'SessionsService',
  OwnSession: 'SessionsService',
  StandingCallers: 'CallerRevalidator',
  ExistingFactor: 'StepUpService',
  ResetTargets: 'MfaResetPolicy',
  RedisOnce: 'MfaStateRepository',
  CodeChecker: 'MfaCodesService',
  TenantGate: 'TenantStatusCheck',
  ProbeLimit: 'FailedAuthenticationThrottle',
};

/** American spelling, in code and in text. */
export const SPELLING = {
  'organisation organisations organisational': 'organization',
  'enrolment enrolments': 'enrollment',
  'enrol enrols': 'enroll',
  'catalogue catalogues': 'catalog',
  'behaviour behaviours': 'behavior',
  'authorise authorises authorised authorisation': 'authorize',
  'normalise normalises normalised': 'normalize',
  'serialise serialises serialised': 'serialize',
  'initialise initialises initialised': 'initialize',
  'recognise recognises recognised': 'recognize',
  'colour colours': 'color',
  'honour honours honoured': 'honor',
  'favour favours': 'favor',
  'licence licences': 'license',
};

/** @returns a map of each form to the term that replaces it */
export const formsOf = (...tables) =>
  new Map(
    tables.flatMap((table) =>
      Object.entries(table).flatMap(([forms, use]) => forms.split(' ').map((form) => [form, use])),
    ),
  );
