/** A problem the user can act on: printed as one message, without a stack. */
export class FleetError extends Error {}
