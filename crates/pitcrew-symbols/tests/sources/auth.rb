require "json"
require_relative "../core/token"

# Checks tokens.
module Core
  LIFETIME = 60

  # Validates tokens.
  class AuthValidator < Base
    include Comparable
    attr_reader :key, :cache

    def initialize(key, retries: 3, *rest, &block)
      @key = key
    end

    # Validates.
    def validate(token) = true

    def self.create(key)
      new(key)
    end

    class << self
      def default; end
    end

    private

    def hidden
      1
    end
  end
end

def helper(a, b = 2)
end
