-- Log loss: the mean negative logarithm of the probability that the score gives to the label, which is
-- taken as at least 2^-52.
SELECT slice,
       sum(-weight * ln(greatest(CASE WHEN label THEN score ELSE 1 - score END, pow(2, -52))))
           / nullif(sum(weight), 0) AS value
FROM (SELECT slice, label, score, CASE WHEN score IS NOT NULL AND label IS NOT NULL THEN weight END
             AS weight FROM rows)
GROUP BY slice
