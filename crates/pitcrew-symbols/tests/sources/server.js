'use strict';
const express = require('express');
const { sign, verify: check } = require('../core/token');

/**
 * Starts the server.
 */
function start(port = 3000, ...rest) {
  const app = express();
}

function Session(user) {
  this.user = user;
}
/** Ends it. */
Session.prototype.end = function (reason) {};
Session.of = (user) => new Session(user);

class Store extends Base {
  limit = 10;
  #items = new Map();
  static async open(path) { return new Store(); }
  *each() {}
}

var LIMITS = { perMinute: 20, total: 10 };
exports.handler = async function handler(event, context) {};
exports.version = '1.0';
module.exports = { start, Session, stop() {}, restart: (port) => start(port) };
