/** The service cannot start until an operator corrects something; the message lists every problem. */
export class StartRefusal extends Error {}
