package com.example.core

import com.example.tokens.Token
import com.example.errors.*
import com.example.Legacy as Old

/** How long a token lives. */
const val LIFETIME_MS: Long = 60_000
internal var counter = 0
typealias Handler = (String) -> Unit

/**
 * Validates tokens.
 */
@Service
open class AuthValidator<T : Claims>(private val key: String, limit: Int = 3) : Base<T>(key), Validator where T : Any {
    val cache: MutableMap<String, T> = mutableMapOf()
    private var count = 0
    val size: Int get() = 3

    constructor(key: Int) : this(key.toString())

    /** Validates. */
    @Throws(Expired::class)
    suspend fun validate(token: String, vararg flags: Int = 1): T? {
        return null
    }
    private fun hidden() = 1
    companion object {
        const val MAX = 3
        fun create(): AuthValidator<*> = make()
    }
}

interface Validator {
    fun accepts(token: String): Boolean
}

enum class Reason(val text: String) {
    EXPIRED("expired"),
    FORGED("forged");

    fun shown() = text
}

data class Point(val x: Int, val y: Int)
object Registry {
    fun find(name: String): String = name
}
fun String.shout(times: Int): String = this
