// Replaces a service in the checks of the launcher and the edge: ready at once, responds with what it received.
import http from 'node:http';

const handlers = {
  '/health/ready': (request, response) => response.end('{"status":"ok"}'),
  '/exit': () => process.exit(9),
};

async function describeRequest(request, response) {
  let bytes = 0;
  for await (const chunk of request) bytes += chunk.length;
  response.setHeader('set-cookie', ['first=1', 'second=2']);
  const { url, method, headers } = request;
  response.end(JSON.stringify({ pid: process.pid, url, method, headers, bytes, env: process.env }));
}

http
  .createServer((request, response) => (handlers[request.url] ?? describeRequest)(request, response))
  .listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
