/** Thrown by a handler that knows the message can never be handled: it is terminated at once, counted and logged. */
export class MessageRejected extends Error {
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options);
    this.name = 'MessageRejected';
  }
}
