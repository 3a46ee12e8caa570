import { RuleTester } from 'eslint';
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import tseslint from 'typescript-eslint';
import plugin from './index.mjs';
import { oneDoorPerRoute } from './one-access-decorator-per-route.mjs';

RuleTester.describe = describe;
RuleTester.it = it;
RuleTester.afterAll = after;

const tester = new RuleTester({ languageOptions: { parser: tseslint.parser } });
const controller = (body, decorators = '') => `${decorators} @Controller('sites') class SitesController { ${body} }`;

tester.run('one-access-decorator-per-route', oneDoorPerRoute, {
  valid: [
    { name: 'a door on the method', code: controller(`@Get() @RequirePermission('sites:read') list() {}`) },
    { name: 'a door on the class for all its routes', code: controller('@Get() a() {} @Post() b() {}', '@Public()') },
    {
      name: 'narrowings beside the door',
      code: controller(`@Post() @RequirePermission('sites:write') @RequireMfa() @AllowScopes('partner') create() {}`),
    },
    { name: 'a door reached through a namespace', code: controller('@Get() @access.SignedIn() me() {}') },
    { name: 'methods that are no routes', code: controller('list() {} @Memoize() find() {}') },
    { name: 'message handlers', code: controller('@EventPattern(A) heard() {} @MessagePattern(B) asked() {}') },
    { name: 'classes that are no controllers', code: 'class Sites { @Get() list() {} }' },
    {
      name: 'an exported controller',
      code: `@Controller() export class A { @Delete(':id') @AcceptsApiKey() remove() {} }`,
    },
  ],
  invalid: [
    {
      name: 'no door',
      code: controller('@Get() list() {}'),
      errors: [{ messageId: 'none', line: 1 }],
    },
    {
      name: 'a narrowing is no door',
      code: controller('@Post() @RequireMfa() create() {}'),
      errors: [{ messageId: 'none' }],
    },
    {
      name: 'two doors on one method',
      code: controller('@Get() @Public() @SignedIn() list() {}'),
      errors: [{ messageId: 'several' }],
    },
    {
      name: 'a door on the class and another on the method',
      code: controller(`@Get() a() {} @Post() @PartnerKey('sites:write') b() {}`, '@SignedIn()'),
      errors: [{ messageId: 'several' }],
    },
    {
      name: 'every route without a door, one by one',
      code: controller('@Get() a() {} @Put() @AgentToken() b() {} @Sse() c() {}'),
      errors: [{ messageId: 'none' }, { messageId: 'none' }],
    },
    {
      name: 'a controller as an expression',
      code: 'const made = @Controller() class { @All() any() {} };',
      errors: [{ messageId: 'none' }],
    },
  ],
});

it('is offered by the plugin under its name', () => {
  assert.equal(plugin.rules['one-access-decorator-per-route'], oneDoorPerRoute);
});

it('knows the doors that the access lib exports', async () => {
  const { readFile } = await import('node:fs/promises');
  const { ROUTE_ACCESS } = await import('./one-access-decorator-per-route.mjs');
  const source = await readFile(new URL('../../libs/access/src/route-access/route-access.decorator.ts', import.meta.url), 'utf8');
  const declared = [...source.matchAll(/export const (\w+) = [^;]*?\baccess\(/g)].map(([, name]) => name);
  assert.deepEqual(declared.toSorted(), ROUTE_ACCESS.toSorted());
});
