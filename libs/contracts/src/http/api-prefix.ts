/** Every route of the services lives under this, except documents and health. */
export const API_PREFIX = '/api/v1';
