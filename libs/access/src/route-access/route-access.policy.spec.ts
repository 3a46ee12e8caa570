import 'reflect-metadata';
import { AllowScopes, RequireMfa, RequirePermission, SignedIn } from './route-access.decorator.js';
import { policyOf, routeAccessOf } from './route-access.policy.js';

@AllowScopes('partner')
class SitesController {
  @RequirePermission('sites:write')
  @RequireMfa()
  create() {
    return 'create';
  }

  @RequirePermission('sites:read')
  @AllowScopes('organization')
  list() {
    return 'list';
  }

  @RequirePermission('sites:read')
  @SignedIn()
  twice() {
    return 'twice';
  }

  none() {
    return 'none';
  }
}

@SignedIn()
class ProfileController {
  get() {
    return 'get';
  }

  @RequirePermission('sites:read')
  sites() {
    return 'sites';
  }
}

const handlerOf = (controller: new () => object, name: string) =>
  (controller.prototype as Record<string, object>)[name];
const policy = (name: keyof SitesController) => policyOf(SitesController, handlerOf(SitesController, name));
const read = { kind: 'permission', permissions: ['sites:read'] };

describe('policyOf', () => {
  it('combines access and constraints', () => {
    const access = { kind: 'permission', permissions: ['sites:write'] };
    expect(policy('create')).toEqual({ access, mfa: true, scopes: ['partner'] });
  });

  it('prefers a constraint of the method to that of the class', () => {
    expect(policy('list')).toEqual({ access: read, scopes: ['organization'] });
  });

  it('returns the same object each time', () => {
    expect(policy('list')).toBe(policy('list'));
  });

  it('returns null for a route without exactly one access decorator', () => {
    expect(policy('none')).toBeNull();
    expect(policy('twice')).toBeNull();
    expect(policyOf(ProfileController, handlerOf(ProfileController, 'sites'))).toBeNull();
  });
});

describe('routeAccessOf', () => {
  it('lists the decorators of the class and of the method', () => {
    const signedIn = { kind: 'signed-in' };
    expect(routeAccessOf(ProfileController, handlerOf(ProfileController, 'get'))).toEqual([signedIn]);
    expect(routeAccessOf(ProfileController, handlerOf(ProfileController, 'sites'))).toEqual([signedIn, read]);
  });
});
