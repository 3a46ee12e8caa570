import { Controller, Get, Module, Post } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { EventPattern } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { routeAccessProblems, routesOf } from './route-access-check.service.js';
import {
  AgentToken,
  AllowScopes,
  KeysOnly,
  PartnerKey,
  Public,
  RequireMfa,
  RequirePermission,
  SignedIn,
  Uncharged,
} from './route-access.decorator.js';

@Controller('good')
class GoodController {
  @Get()
  @RequirePermission('sites:read')
  list() {
    return 'list';
  }

  @Post()
  @RequirePermission('sites:write')
  @RequireMfa()
  @AllowScopes('partner')
  create() {
    return 'create';
  }

  @EventPattern('rmm.internal.x.y')
  received(message: unknown) {
    return message;
  }

  helper() {
    return 'helper';
  }
}

@Controller('open')
@Public()
class OpenController {
  @Get('a')
  a() {
    return 'a';
  }
  @Get('b')
  b() {
    return 'b';
  }
}

@Controller('bad')
class BadController {
  @Get('none')
  none() {
    return 'none';
  }

  @Get('two')
  @SignedIn()
  @AgentToken()
  two() {
    return 'two';
  }

  @Get('constrained')
  @PartnerKey('sites:read')
  @RequireMfa()
  constrained() {
    return 'constrained';
  }

  @Get('keys')
  @SignedIn()
  @KeysOnly()
  keys() {
    return 'keys';
  }

  @Get('uncharged')
  @SignedIn()
  @Uncharged()
  uncharged() {
    return 'uncharged';
  }
}

@Controller('twice')
@SignedIn()
class TwiceController {
  @Get()
  @Public()
  open() {
    return 'open';
  }
}

abstract class Base {
  @Get('inherited')
  inherited() {
    return 'inherited';
  }
}

@Controller('derived')
class DerivedController extends Base {}

async function problemsOf(...controllers: (new () => object)[]): Promise<string[]> {
  @Module({ controllers })
  class AppModule {}
  const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
  return routeAccessProblems(routesOf(module.get(ModulesContainer)));
}

describe('routeAccessProblems', () => {
  it('accepts one access decorator per route, on the method or on the class', async () => {
    expect(await problemsOf(GoodController, OpenController)).toEqual([]);
  });

  it('names every invalid route', async () => {
    expect(await problemsOf(GoodController, BadController, TwiceController, DerivedController)).toEqual([
      'BadController.none has no access decorator',
      'BadController.two has 2 access decorators: agent-token, signed-in',
      'BadController.constrained has a constraint for users, which does not apply to partner-key routes',
      'BadController.keys has @KeysOnly, which does not apply to signed-in routes',
      'BadController.uncharged has @Uncharged, which does not apply to signed-in routes',
      'TwiceController.open has 2 access decorators: signed-in, public',
      'DerivedController.inherited has no access decorator',
    ]);
  });
});
