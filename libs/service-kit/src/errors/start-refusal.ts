/** The service does not start, for a reason that an operator can put right; the message lists all of them. */
export class StartRefusal extends Error {}
