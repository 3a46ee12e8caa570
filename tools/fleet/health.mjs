import http from 'node:http';

/** Whether a service on this machine answers that it is ready. Never rejects. */
export function isReady(port, timeoutMs = 2_000) {
  return new Promise((resolve) => {
    const request = http.get(
      { host: '127.0.0.1', port, path: '/health/ready', timeout: timeoutMs, agent: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(false));
  });
}
