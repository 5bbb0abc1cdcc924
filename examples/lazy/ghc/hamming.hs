-- hamming.lazy, for GHC
module Main (main) where
import Prelude hiding (map, take, (*))
import qualified Prelude

main :: IO ()
main = print (take 400 ham)
ham :: [Int]
ham = let y = 1 : merge (merge (map ((*) 2) y) (map ((*) 3) y)) (map ((*) 5) y)
      in y
(*) :: Int -> Int -> Int
a * b = a Prelude.* b
merge :: [Int] -> [Int] -> [Int]
merge f g = case f of
    [] -> g
    a : b -> case g of
        [] -> f
        c : d -> if a < c then a : merge b g
                 else if a == c then merge f d
                 else c : merge f d
map :: (a -> b) -> [a] -> [b]
map f l = case l of { [] -> []; x : xs -> f x : map f xs }
take :: Int -> [a] -> [a]
take n l = if n == 0 then [] else case l of { [] -> []; x : xs -> x : take (n - 1) xs }
