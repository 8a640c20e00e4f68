package com.example.core

import com.example.tokens.Token
import com.example.errors.{Expired, Forged => Fake}
import com.example.all._

/** Validates tokens. */
@deprecated("old", "1")
abstract class AuthValidator[T <: Claims](val key: String, limit: Int = 3) extends Base[T] with Validator {
  val cache: Map[String, T] = Map.empty
  private var count = 0

  /** Validates. */
  def validate[U](token: String, flags: Int*)(implicit ec: Context): Option[T] = {
    None
  }
  protected def refresh(): Unit
  private[core] def inner: Int = 3
}

object AuthValidator {
  final val Max = 3
  def create(key: String): AuthValidator[Claims] = ???
}

trait Validator {
  def accepts(token: String): Boolean
}

case class Point(x: Int, y: Int)
type Handler = String => Unit

enum Reason(val text: String) {
  case Expired extends Reason("expired")
  case Forged, Other
}
