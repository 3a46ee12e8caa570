/** Thrown by a handler for a message that can never be handled: it is terminated at once, counted and logged. */
export class MessageRejected extends Error {
  override name = 'MessageRejected';

  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options);
  }
}

/** The stream refused this message; others may be accepted. */
export class PublishRefused extends Error {
  override name = 'PublishRefused';
}

/** Nothing can be published at present: no acknowledgement, no stream, no connection. */
export class NatsUnavailable extends Error {
  override name = 'NatsUnavailable';
}

/** The NATS server is too old, runs without JetStream, or stores a stream with another configuration than requested. */
export class UnsuitableNatsServer extends Error {
  override name = 'UnsuitableNatsServer';
}

/** A handler has subjects that its durable consumer does not deliver: they are missing in `DURABLES` of @rmm/contracts. */
export class UnlistedSubjects extends Error {
  constructor(durable: string, subjects: readonly string[]) {
    super(`DURABLES lists no consumer ${durable} with ${subjects.join(', ')}, so these handlers would receive nothing`);
    this.name = new.target.name;
  }
}
